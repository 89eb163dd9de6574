#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds three descriptions of the module map against each other and fails when they disagree.

1. the #include lines under src/ (and the third-party ones under tests/),
2. the DEPS of each src/<module>/CMakeLists.txt,
3. the table of ARCHITECTURE.md, section 2.

DEPS stay within the table, every include is covered by DEPS, every entry of DEPS is used by an include, and
a third-party header stands only where RULES lets it. What the table marks as planned does not exist, and
the files that the page lists do. Tests may also include what stands in tests/.
"""
import argparse
import fnmatch
import pathlib
import re
import sys

TEST_FILES = ["*_test.cc", "*_bench.cc", "*_for_test.h", "*/test_*", "tests/*"]
# header pattern → files that may include it, as patterns under the repository. First match counts.
RULES = [
    ("nlohmann/*", ["src/base/json.cc", *TEST_FILES]),
    ("spdlog/*", ["src/base/log.cc"]),
    ("openssl/*", ["src/base/digest.cc"]),
    ("xxhash.h", ["src/base/digest.cc"]),
    ("pcre2.h", ["src/text/pretokenizer.cc"]),
    ("utf8proc.h", ["src/text/normalizer.cc"]),
    ("curl/*", ["src/lab/curl_library.h"]),
    ("pawl/pawl.h", ["src/api/*"]),
    ("CLI/*", ["src/cli/*"]),
    ("sqlite3.h", ["src/base/sqlite.cc"]),
    ("boost/*", ["src/server/*"]),
    ("prometheus/*", ["src/server/metrics.cc"]),
    ("fmt/*", ["!src/kernels/*", "src/*", "tests/*"]),
    ("gtest/*", TEST_FILES),
    ("gmock/*", TEST_FILES),
    ("benchmark/*", ["*_bench.cc"]),
    ("immintrin.h", ["src/kernels/*", "src/base/task_pool.cc"]),
    ("arm_neon.h", ["src/kernels/neon/*"]),
    ("cpuid.h", ["src/kernels/cpu.cc"]),
    # C and POSIX, as the operating system gives them
    ("sys/*", ["*"]), ("linux/*", ["*"]), ("netinet/*", ["*"]), ("arpa/*", ["*"]),
]
SYSTEM = {"dirent.h", "dlfcn.h", "fcntl.h", "netdb.h", "poll.h", "pthread.h", "pwd.h", "sched.h", "signal.h", "spawn.h",
          "stdint.h", "stddef.h", "time.h", "termios.h", "unistd.h"}

# Files with their own compiler flags must not pull in inline functions, which the linker might keep for
# the whole program.
ISA_FILES = ["src/kernels/*-inl.h", "src/kernels/avx2/*", "src/kernels/avx512/*", "src/kernels/neon/*"]
ISA_STANDARD = {"immintrin.h", "arm_neon.h", "cstddef", "cstdint"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def matches(where, patterns):
    return any(fnmatch.fnmatch(where, pattern) for pattern in patterns)


def includes(path):
    return [(kind == "<", name) for kind, name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


def source_files(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".cc", ".h"))


def read_table(page):
    """The rows of section 2: module → (level, set of modules or None for all, planned?)."""
    text = page.read_text(encoding="utf-8")
    section = re.search(r"^## 2\..*?(?=^## 3\.)", text, re.M | re.S)
    if not section:
        return {}
    rows = {}
    columns = None
    for line in section.group().splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) < 5:
            continue
        if columns is None:
            columns = {name: i for i, name in enumerate(cells)}
        elif not set(cells[0]) <= set("-: "):
            allowed = cells[columns["may include"]]
            rows[cells[columns["module"]]] = (
                int(cells[columns["level"]]),
                None if allowed == "all" else set(allowed.split()) - {"-"},
                cells[columns["state"]] == "planned")
    return rows


def listed_files(page):
    """The files that the block under "### Files" names, as paths under src/."""
    block = re.search(r"^### Files.*?^```$(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    folder = ""
    for line in block.group(1).splitlines() if block else []:
        folder = (re.match(r"\w+/", line) or [folder])[0]
        for name in re.findall(r"(?<=\s)[\w/-]+\.(?:cc|h)\b", line):
            yield folder + name


def read_deps(cmake, module):
    """DEPS of pawl_module(module …), or None when the file does not make the module."""
    text = re.sub(r"#[^\n]*", "", cmake.read_text(encoding="utf-8"))
    call = re.search(r"pawl_module\(\s*" + re.escape(module) + r"\b([^)]*)\)", text)
    if not call:
        return None
    deps = set()
    keyword = None
    for word in call.group(1).split():
        if word in ("DEPS", "LIBS", "SOURCES"):
            keyword = word
        elif keyword == "DEPS":
            deps.add(word)
    return deps


def third_party_error(where, name):
    """Why `where` may not include <name>; None when it may."""
    if matches(where, ISA_FILES):
        return None if name in ISA_STANDARD else "files with instruction-set flags include no such header"
    if "." not in name and "/" not in name or name in SYSTEM:
        return None
    for pattern, places in RULES:
        if fnmatch.fnmatch(name, pattern):
            for place in places:
                if fnmatch.fnmatch(where, place.lstrip("!")):
                    return "not allowed here" if place.startswith("!") else None
            return "allowed only in " + ", ".join(places)
    return "a header that no row of RULES knows"


def check_module(root, module, table, errors):
    folder = root / "src" / module
    cmake = folder / "CMakeLists.txt"
    listing = cmake.read_text(encoding="utf-8")
    deps = read_deps(cmake, module)
    if deps is None:
        errors.append(f"src/{module}/CMakeLists.txt: no pawl_module({module} …)")
        return
    if module not in table:
        errors.append(f"src/{module}: no row in the table of ARCHITECTURE.md")
        return
    level, allowed, planned = table[module]
    if planned:
        errors.append(f"src/{module}: exists, and ARCHITECTURE.md calls it planned")
    for dep in sorted(deps):
        if allowed is not None and dep not in allowed:
            errors.append(f"src/{module}: DEPS name {dep}, which the table does not allow")
        if dep not in table or table[dep][0] >= level:
            errors.append(f"src/{module}: DEPS name {dep}, which is not of a lower level")

    used = set()
    for path in source_files(folder):
        where = path.relative_to(root).as_posix()
        # A benchmark may be named without its ending, as the target it makes.
        built_as = path.relative_to(folder).as_posix().replace("_bench.cc", "_bench")
        if path.suffix == ".cc" and built_as not in listing:
            errors.append(f"{where}: not named in src/{module}/CMakeLists.txt, so it is never built")
        for angled, name in includes(path):
            if angled:
                problem = third_party_error(where, name)
                if problem:
                    errors.append(f"{where}: <{name}>: {problem}")
                continue
            if matches(where, TEST_FILES) and (root / "tests" / name).exists():
                continue
            target = name.split("/")[0]
            used.add(target)
            if target not in table or "/" not in name:
                errors.append(f'{where}: "{name}": an include of ours starts with its module')
            elif target != module and target not in deps:
                errors.append(f'{where}: "{name}": {target} is not in the DEPS of {module}')
            elif not (root / "src" / name).exists():
                errors.append(f'{where}: "{name}": no such file')
    for dep in sorted(deps - used):
        errors.append(f"src/{module}: DEPS name {dep}, and no file includes it")


def check(root):
    errors = []
    table = read_table(root / "ARCHITECTURE.md")
    if not table:
        return ["ARCHITECTURE.md: no table in section 2"]
    for module, (_, _, planned) in table.items():
        if not planned and not (root / "src" / module / "CMakeLists.txt").exists():
            errors.append(f"src/{module}: ARCHITECTURE.md calls it present, and it does not exist")
    for name in listed_files(root / "ARCHITECTURE.md"):
        if not (root / "src" / name).exists():
            errors.append(f"src/{name}: ARCHITECTURE.md lists it, and it does not exist")
    for cmake in sorted((root / "src").glob("*/CMakeLists.txt")):
        check_module(root, cmake.parent.name, table, errors)
    for path in source_files(root / "tests"):
        where = path.relative_to(root).as_posix()
        for angled, name in includes(path):
            problem = third_party_error(where, name) if angled else None
            if problem:
                errors.append(f"{where}: <{name}>: {problem}")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    root = parser.parse_args().root
    errors = check(root)
    for error in errors:
        print(f"check_layers: {error}")
    print(f"check_layers: {len(errors)} disagreements" if errors else "check_layers: all three agree")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
