#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py accepts a small map that is in order, and names each way of breaking it."""
import pathlib
import tempfile
import unittest

import check_layers

PAGE = """# map
## 2. Folders
| level | module | is | may include | third party | state |
| --- | --- | --- | --- | --- | --- |
| 0 | base | words | - | fmt | here |
| 1 | kernels | sums | base | | here |
| 2 | text | ids | base bridge | PCRE2 | here |
| 1 | bridge | crates | base | | planned |
| 5 | cli | main | all | CLI11 | planned |
### Files
```
base/     json.h     values                 json.cc   the only user
kernels/  avx2/table.cc  sums
```
## 3. The path
"""
FILES = {
    "ARCHITECTURE.md": PAGE,
    "src/base/CMakeLists.txt": "pawl_module(base\n  LIBS x\n  SOURCES json.cc)\n",
    "src/base/json.cc": '#include "base/json.h"\n#include <nlohmann/json.hpp>\n#include <sys/mman.h>\n',
    "src/base/json.h": "#include <vector>\n",
    "src/kernels/CMakeLists.txt": "pawl_module(kernels DEPS base SOURCES sum.cc avx2/table.cc)\n",
    "src/kernels/sum.cc": '#include "base/json.h"\n',
    "src/kernels/avx2/table.cc": "#include <immintrin.h>\n#include <cstdint>\n",
    "src/text/CMakeLists.txt": "pawl_module(text DEPS base SOURCES pretokenizer.cc)\n"
                               "pawl_test(text SOURCES text_test.cc)\n",
    "src/text/pretokenizer.cc": '#include "base/json.h"\n#include <pcre2.h>\n',
    "src/text/text_test.cc": "#include <gtest/gtest.h>\n#include <nlohmann/json.hpp>\n"
                              '#include "support/golden.h"\n',
    "tests/support/golden.h": "#include <string>\n",
}


def errors_with(changes):
    """What the checker says of FILES after `changes` (path → text, None removes)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**FILES, **changes}.items():
            if text is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
        return check_layers.check(root)


class CheckLayers(unittest.TestCase):
    def finds(self, changes, words):
        errors = errors_with(changes)
        self.assertTrue(any(words in e for e in errors), f"wanted '{words}' in {errors}")

    def test_a_map_in_order_passes(self):
        self.assertEqual(errors_with({}), [])

    def test_include_outside_deps(self):
        self.finds({"src/text/pretokenizer.cc": '#include "base/json.h"\n#include "kernels/sum.h"\n'},
                   "kernels is not in the DEPS of text")

    def test_indented_include_is_seen(self):
        self.finds({"src/base/json.h": ' # include "text/x.h"\n'}, "text is not in the DEPS of base")

    def test_deps_beyond_the_table(self):
        self.finds({"src/text/CMakeLists.txt": "pawl_module(text DEPS base kernels SOURCES pretokenizer.cc)"
                                               "# text_test.cc"},
                   "DEPS name kernels, which the table does not allow")

    def test_deps_that_no_include_needs(self):
        self.finds({"src/kernels/sum.cc": "#include <vector>\n"}, "DEPS name base, and no file includes it")

    def test_edge_to_the_same_level(self):
        self.finds({"ARCHITECTURE.md": PAGE.replace("| 1 | kernels", "| 0 | kernels")},
                   "not of a lower level")

    def test_third_party_outside_its_file(self):
        self.finds({"src/base/json.h": "#include <nlohmann/json.hpp>\n"}, "allowed only in src/base/json.cc")
        self.finds({"src/kernels/sum.cc": '#include "base/json.h"\n#include <fmt/format.h>\n'},
                   "not allowed here")
        self.finds({"src/base/json.h": "#include <immintrin.h>\n"}, "<immintrin.h>: allowed only in")
        self.finds({"tests/e2e/run_test.cc": "#include <curl/curl.h>\n"}, "tests/e2e/run_test.cc: <curl/")

    def test_unknown_third_party(self):
        self.finds({"src/base/json.h": "#include <rapidjson/reader.h>\n"}, "no row of RULES knows")

    def test_standard_header_beside_isa_flags(self):
        self.finds({"src/kernels/avx2/table.cc": "#include <vector>\n"}, "instruction-set flags")

    def test_source_that_is_never_built(self):
        self.finds({"src/base/orphan.cc": ""}, "never built")

    def test_include_without_module_or_file(self):
        self.finds({"src/base/json.cc": '#include "json.h"\n'}, "starts with its module")
        self.finds({"src/base/json.cc": '#include "base/gone.h"\n'}, "no such file")
        self.finds({"src/base/json.cc": '#include "support/golden.h"\n'}, "starts with its module")

    def test_states_of_the_table(self):
        self.finds({"ARCHITECTURE.md": PAGE.replace("| fmt | here", "| fmt | planned")}, "calls it planned")
        self.finds({"ARCHITECTURE.md": PAGE.replace("| | planned", "| | here")}, "src/bridge: ARCHITECTURE")
        self.finds({"ARCHITECTURE.md": PAGE.replace("| 0 | base", "| 0 | ground")}, "no row in the table")
        self.finds({"ARCHITECTURE.md": "# nothing\n"}, "no table")

    def test_listed_file_that_is_gone(self):
        self.finds({"ARCHITECTURE.md": PAGE.replace("avx2/table.cc", "avx2/sums.cc")},
                   "src/kernels/avx2/sums.cc: ARCHITECTURE.md lists it")

    def test_module_that_is_not_made(self):
        self.finds({"src/base/CMakeLists.txt": "add_library(base json.cc)\n"}, "no pawl_module(base")


if __name__ == "__main__":
    unittest.main()
