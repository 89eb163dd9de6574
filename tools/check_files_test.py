#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_files.py accepts a small repository that is in order, and names each way of breaking it."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import check_files

HEAD = "// " + check_files.SPDX + "\n"
FILES = {
    "src/base/clock.cc": HEAD,
    "scripts/run": "#!/bin/sh\n# " + check_files.SPDX + "\n",
    "scripts/packages.txt": "# group and name\nbuild cmake\n",
    "docs/dependencies.md": "# Why\n## Installed by the scripts\n| `cmake` | builds |\n## Optional\n| `x` | y |\n",
    "data.bin": "",
}


def errors_with(changes):
    """What the checker says of FILES after `changes` (path → text)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**FILES, **changes}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        (root / "data.bin").write_bytes(b"\xff\xfe\x00")
        return check_files.check_repository(root)


class CheckFiles(unittest.TestCase):
    def finds(self, changes, words):
        errors, _ = errors_with(changes)
        self.assertTrue(any(words in e for e in errors), f"wanted '{words}' in {errors}")

    def test_a_repository_in_order_passes(self):
        self.assertEqual(errors_with({}), ([], []))

    def test_length(self):
        self.finds({"src/base/clock.cc": HEAD + "\n" * 500}, "501 lines, at most 500")
        errors, notes = errors_with({"src/base/clock.cc": HEAD + "\n" * 300})
        self.assertEqual(errors, [])
        self.assertEqual(notes, ["src/base/clock.cc: 301 lines, the aim is 300"])

    def test_spdx_line(self):
        self.finds({"src/base/clock.cc": "int x;\n"}, "src/base/clock.cc: no line")
        self.finds({"scripts/run": "#!/bin/sh\n"}, "scripts/run: no line")
        self.finds({"src/base/CMakeLists.txt": "x\n"}, "src/base/CMakeLists.txt: no line")

    def test_paths_of_a_machine(self):
        for folder in ("root", "work", "home"):
            self.finds({"README.md": f"run it in /{folder}/me\n"}, "README.md:1: a path of one machine")
            self.finds({"README.md": f"\n'/{folder}'\n"}, "README.md:2: a path of one machine")
        errors, _ = errors_with({"README.md": "src/home/x ~/work $HOME/root /homes /usr/home-made\n"})
        self.assertEqual(errors, [])

    def test_registry_hosts(self):
        for host in check_files.REGISTRIES:
            self.finds({"docs/a.md": f"https://{host}/x\n"}, f"docs/a.md:1: the host of a package registry: {host}")

    def test_packages_and_reasons_agree(self):
        self.finds({"scripts/packages.txt": "build cmake\ntest gdb\n"}, "no reason for the package gdb")
        self.finds({"scripts/packages.txt": ""}, "cmake stands in docs/dependencies.md only")


@unittest.skipUnless(shutil.which("g++") and shutil.which("nm"), "g++ and nm are needed")
class CheckObjects(unittest.TestCase):
    def errors_of(self, code):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "table.cc"
            source.write_text(code, encoding="utf-8")
            target = str(source.with_suffix(".o"))
            subprocess.run(["g++", "-std=c++20", "-O0", "-c", str(source), "-o", target], check=True)
            return check_files.check_objects([target])

    def test_one_table_passes(self):
        self.assertEqual(self.errors_of("namespace { int f(int a, char) { return a; } }\n"
                                        "extern int (*const table)(int, char); int (*const table)(int, char) = f;"),
                         [])

    def test_inline_function_is_found(self):
        errors = self.errors_of("inline int f() { return 1; }\nint (*table)() = f;")
        self.assertTrue(any("weak symbol f()" in e for e in errors), errors)

    def test_standard_container_is_found(self):
        errors = self.errors_of("#include <vector>\nint table() { std::vector<int> v; v.push_back(1); return v[0]; }")
        self.assertGreater(len(errors), 10)

    def test_second_and_missing_export_are_found(self):
        self.assertIn("exports 2 symbols", self.errors_of("int f() { return 1; }\nint g(int) { return 2; }")[0])
        self.assertIn("exports 0 symbols", self.errors_of("static int f() { return 1; }")[0])


if __name__ == "__main__":
    unittest.main()
