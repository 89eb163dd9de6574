# SPDX-License-Identifier: Apache-2.0
"""The server through the clients that people use, and through a fuzzer of APIs. scripts/clients.sh installs them;
without them the tests are skipped by name. PAWL_FUZZ_SECONDS: how long the fuzzer runs."""

import os
import pathlib
import subprocess
import unittest

from pawl_testing import main
from server_testing import CHAT_MODEL, ServerTest

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get("PAWL_TEST_PYTHON")
NODE = os.environ.get("PAWL_TEST_NODE")
SECONDS = int(os.environ.get("PAWL_FUZZ_SECONDS", "20"))


class Clients(ServerTest):
    def setUp(self):
        super().setUp()
        keys = self.home / "keys"
        keys.write_text("test: a-key-of-the-test\n")
        self.server = self.serve("--api-key-file", keys, "--max-waiting", 500, model=CHAT_MODEL)
        self.url = f"http://127.0.0.1:{self.server.port}"

    def run_client(self, *words, seconds=240):
        result = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=seconds,
                                cwd=self.home)
        self.assertEqual(result.returncode, 0, result.stdout[-6000:] + result.stderr[-3000:])
        return result.stdout

    @unittest.skipUnless(PYTHON, "PAWL_TEST_PYTHON is not set: no openai package")
    def test_the_openai_package_for_python(self):
        self.assertIn("all held", self.run_client(PYTHON, HERE / "openai_client.py", self.url, "qwen3"))

    @unittest.skipUnless(NODE, "PAWL_TEST_NODE is not set: no openai package for Node")
    def test_the_openai_package_for_node(self):
        self.assertIn("all held", self.run_client("node", HERE / "openai_client.mjs", self.url, "qwen3", NODE))

    @unittest.skipUnless(PYTHON, "PAWL_TEST_PYTHON is not set: no schemathesis package")
    def test_a_fuzzer_finds_no_5xx_and_no_hang(self):
        schema = self.home / "openapi.yaml"
        text = (HERE.parents[1] / "docs" / "openapi.yaml").read_text()
        schema.write_text(text.replace("model: {type: string}", "model: {const: qwen3}"))
        command = [PYTHON, "-m", "schemathesis.cli", "run", schema, "--url", self.url,
                   "--header", "Authorization: Bearer a-key-of-the-test", "--checks", "not_a_server_error",
                   "--exclude-operation-id", "embed", "--max-time", SECONDS, "--request-timeout", "20"]
        self.run_client(*command, seconds=SECONDS + 200)
        self.assertEqual(self.server.get("/health").status, 200)


if __name__ == "__main__":
    main()
