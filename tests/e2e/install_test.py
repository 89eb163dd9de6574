# SPDX-License-Identifier: Apache-2.0
"""The installed library: a project of its own finds it, builds the examples in a clean folder, and what they
compute by hand is what pawl trace selected."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from pawl_testing import PawlTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "tests" / "golden" / "tiny" / "gemma3.gguf"
BUILD = pathlib.Path(os.environ["PAWL"]).parent
TEXT = "a b c"


def run(*words):
    return subprocess.run([*map(str, words)], text=True, capture_output=True, timeout=500)


def cached(name):
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return found.group(1) if found else ""


@unittest.skipIf(cached("PAWL_SANITIZE"), "a library with sanitizers needs their flags wherever it is linked")
@unittest.skipUnless((BUILD / "libpawl.a").exists(), "libpawl.a was not built: build all")
class Install(PawlTest):
    def test_examples_build_against_what_was_installed(self):
        prefix, examples = self.home / "prefix", self.home / "examples"
        # Without what else is installed: the program has its own tests.
        self.assert_done(run("cmake", "-DCMAKE_INSTALL_PREFIX=" + str(prefix), "-P",
                             BUILD / "src" / "api" / "cmake_install.cmake"))
        header = (prefix / "include" / "pawl" / "pawl.h").read_text()
        inner = re.findall(r'#include [<"]([^>"]*[./][^>"]*)[>"]', header)
        self.assertEqual(inner, [], "the installed header includes nothing but the standard library")
        self.assert_done(run("cmake", "-S", ROOT / "examples", "-B", examples, f"-DCMAKE_PREFIX_PATH={prefix}",
                             "-DCMAKE_CXX_COMPILER=" + cached("CMAKE_CXX_COMPILER")))
        self.assert_done(run("cmake", "--build", examples))

        trace = self.home / "t.jsonl"
        self.assert_done(self.pawl("trace", "-m", TINY, "-p", TEXT, "-n", "24", "--greedy", "--out", trace))
        steps = [json.loads(line) for line in trace.read_text().splitlines()[1:-1]]
        greedy = run(examples / "greedy", TINY, TEXT, 24)
        self.assert_done(greedy)
        self.assertEqual([int(line) for line in greedy.stdout.split()], [step["selected"]["id"] for step in steps])

        stream = run(examples / "stream", TINY, TEXT, 5)
        self.assert_done(stream)
        self.assertRegex(stream.stdout, r"\[[56] tokens, cancelled\]\n$")

        for words, offender in [((), "usage"), (("/no/such.gguf", "x", "1"), "/no/such.gguf")]:
            result = run(examples / "greedy", *words)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn(offender, result.stderr)

    def test_the_example_is_small(self):
        self.assertLess(len((ROOT / "examples" / "greedy.cc").read_text().splitlines()), 60)


if __name__ == "__main__":
    main()
