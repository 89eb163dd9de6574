# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, headless, on a tiny model. scripts/clients.sh installs what drives the browser; without
it, or without Chromium, the tests are skipped by name."""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from pawl_testing import CLIENTS, main  # noqa: E402
from server_testing import CHAT_MODEL, ServerTest  # noqa: E402

CHROMIUM = os.environ.get("PAWL_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MODULES = pathlib.Path(os.environ.get("PAWL_TEST_WEB") or CLIENTS / "web")


def reason_to_skip():
    if not CHROMIUM:
        return "chromium is not installed"
    if not shutil.which("node"):
        return "node is not installed"
    if not (MODULES / "node_modules" / "playwright-core").exists():
        return f"{MODULES}/node_modules is not here (./scripts/test makes it)"
    return None


@unittest.skipIf(reason_to_skip(), reason_to_skip())
class Page(ServerTest):
    def long_model(self, is_plain=False):
        """The tiny model with a context that takes a second to fill; plain: with no chat template."""
        data = bytearray(CHAT_MODEL.read_bytes())
        key = b"qwen3.context_length"
        struct.pack_into("<I", data, data.index(key) + len(key) + 4, 32768)
        if is_plain:
            data = data.replace(b"tokenizer.chat_template", b"tokenizer.chat_templat-")
        path = self.home / "long.gguf"
        path.write_bytes(data)
        return path

    def held(self, scenario, *arguments, is_plain=False):
        server = self.serve("--context", 32768, *arguments, model=self.long_model(is_plain))
        environment = {**os.environ, "PAWL_TEST_WEB": str(MODULES), "PAWL_TEST_CHROMIUM": CHROMIUM}
        result = subprocess.run(["node", HERE / "run.mjs", scenario, f"http://127.0.0.1:{server.port}"], text=True,
                                capture_output=True, timeout=300, env=environment, cwd=self.home)
        self.assertIn("all held", result.stdout, result.stdout[-4000:] + result.stderr[-4000:])
        for line in result.stdout.splitlines()[:-1]:
            print(line)

    def test_an_answer_streams_and_is_the_one_of_the_api(self):
        self.held("streams")

    def test_editing_and_asking_again_make_branches(self):
        self.held("edits_and_branches")

    def test_a_turned_token_moves_nothing_before_it(self):
        self.held("turns_a_token")

    def test_turning_to_the_end_token_ends_the_answer(self):
        self.held("turns_to_the_end")

    def test_the_bill_of_a_stop_equals_the_ledger(self):
        self.held("bills_a_stop")

    def test_conversations_survive_a_reload_and_travel(self):
        self.held("keeps_conversations")

    def test_the_api_key_is_asked_for_and_kept_in_memory_only(self):
        keys = self.home / "keys"
        keys.write_text("test: the-key-of-the-test\n")
        self.held("asks_for_the_key", "--api-key-file", keys)

    def test_a_model_without_a_template_completes_text(self):
        self.held("completes_a_plain_text", is_plain=True)

    def test_the_draft_is_counted_before_it_is_sent(self):
        self.held("counts_the_draft")

    def test_the_server_view_shows_and_cancels(self):
        self.held("watches_the_server")

    def test_a_schema_is_filled_or_refused_in_words(self):
        self.held("fills_a_schema")

    def test_the_schema_bill_names_each_field(self):
        self.held("bills_the_fields")

    def test_everything_works_by_keyboard(self):
        self.held("works_by_keyboard")

    def test_axe_finds_no_serious_violation(self):
        self.held("is_accessible")

    def test_a_first_visit_is_light_and_soon_painted(self):
        self.held("is_light")

    def test_hostile_output_stays_text(self):
        self.held("hostile_output_stays_text")

    def test_a_line_of_a_megabyte_stays_text(self):
        self.held("survives_a_line_of_a_megabyte")

    def test_a_long_answer_scrolls_smoothly(self):
        self.held("a_long_answer_is_smooth")


if __name__ == "__main__":
    main()
