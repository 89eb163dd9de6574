#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that hold for every file of the repository.

Length: source files aim at 300 lines and stop at 500. Every source and script has its SPDX line. No file
names a folder of somebody's machine or the host of a package registry. Every package of
scripts/packages.txt has its reason in docs/dependencies.md, and the other way round.

With --objects: the object files built with instruction-set flags define exactly one symbol each that the
linker can see, and none that it could keep in place of the same function from elsewhere.
"""
import argparse
import pathlib
import re
import subprocess
import sys

TARGET_LINES = 300
MOST_LINES = 500
# Tables and generated data that are longer, each with its reason.
LONG_FILES = {}
# Data in which the words of the two rules below are content. Each with its reason.
FOREIGN_TEXT = {}
# Files whose writer puts the name of its registry into them.
LOCK_FILES = {"Cargo.lock"}

SOURCE_SUFFIXES = {".cc", ".h", ".py", ".sh", ".cmake", ".rs", ".js", ".css"}
SPDX = "SPDX-License-Identifier: Apache-2.0"

# Written in pieces, so that this file obeys its own rules.
MACHINE_PATH = re.compile(r"(?<![\w.$}~*/-])/(?:" + "|".join(("root", "work", "home")) + r")(?![\w.-])")
REGISTRIES = [".".join(parts) for parts in (
    ("pypi", "org"), ("files", "pythonhosted", "org"), ("crates", "io"), ("registry", "npmjs", "org"),
    ("deb", "debian", "org"), ("security", "debian", "org"), ("archive", "ubuntu", "com"),
    ("security", "ubuntu", "com"), ("proxy", "golang", "org"))]
SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__"}


def repository_files(root):
    """What git tracks; in an unpacked archive, every file outside the build folders."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0:
        paths = {root / name for name in listed.stdout.decode().split("\0") if name}
    else:
        paths = {p for p in root.rglob("*") if not SKIPPED_FOLDERS & set(p.relative_to(root).parts)}
    return sorted(p for p in paths if p.is_file() and not p.is_symlink())


def is_source(path, text):
    return path.suffix in SOURCE_SUFFIXES or path.name == "CMakeLists.txt" or text.startswith("#!")


def check_file(path, name, text, errors, notes):
    lines = text.count("\n") + (not text.endswith("\n"))
    if is_source(path, text):
        if SPDX not in "\n".join(text.splitlines()[:3]):
            errors.append(f"{name}: no line '{SPDX}' among the first three")
        if lines > MOST_LINES and name not in LONG_FILES:
            errors.append(f"{name}: {lines} lines, at most {MOST_LINES}")
        elif lines > TARGET_LINES and name not in LONG_FILES:
            notes.append(f"{name}: {lines} lines, the aim is {TARGET_LINES}")
    if name in FOREIGN_TEXT or path.name in LOCK_FILES:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if MACHINE_PATH.search(line):
            errors.append(f"{name}:{number}: a path of one machine: {line.strip()[:80]}")
        for host in REGISTRIES:
            if host in line:
                errors.append(f"{name}:{number}: the host of a package registry: {host}")


def check_packages(root, errors):
    """scripts/packages.txt and the package column of docs/dependencies.md name the same packages."""
    listed = set()
    for line in (root / "scripts/packages.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            listed.add(line.split()[1])
    page = (root / "docs/dependencies.md").read_text(encoding="utf-8")
    section = page.split("\n## Installed by the scripts", 1)[-1].split("\n## ", 1)[0]
    explained = set(re.findall(r"^\| `([^`]+)`", section, re.M))
    for name in sorted(listed - explained):
        errors.append(f"docs/dependencies.md: no reason for the package {name}")
    for name in sorted(explained - listed):
        errors.append(f"scripts/packages.txt: {name} stands in docs/dependencies.md only")


def check_repository(root):
    errors, notes = [], []
    names = set()
    for path in repository_files(root):
        name = path.relative_to(root).as_posix()
        names.add(name)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        check_file(path, name, text, errors, notes)
    for name in sorted((set(LONG_FILES) | set(FOREIGN_TEXT)) - names):
        errors.append(f"tools/check_files.py: an exemption for {name}, which does not exist")
    check_packages(root, errors)
    return errors, notes


def check_object(name, listing):
    """What is wrong with the output of `nm` for one object file."""
    errors, exported = [], []
    for line in listing.splitlines():
        kind, symbol = re.fullmatch(r"[0-9a-f ]* (\w) (.*)", line).groups()
        if kind in "WwVvu":
            errors.append(f"{name}: weak symbol {symbol}")
        elif kind.isupper() and kind != "U":
            exported.append(symbol)
    if len(exported) != 1:
        errors.append(f"{name}: exports {len(exported)} symbols, wanted one: "
                      + ", ".join(exported[:5]))
    return errors


def check_objects(paths):
    errors = []
    for path in paths:
        listing = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
        errors += check_object(pathlib.Path(path).name, listing)
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("--objects", nargs="+", help="check these object files instead of the repository")
    args = parser.parse_args()
    errors, notes = (check_objects(args.objects), []) if args.objects else check_repository(args.root.resolve())
    for note in notes:
        print(f"check_files: note: {note}")
    for error in errors:
        print(f"check_files: {error}")
    print(f"check_files: {len(errors)} errors" if errors else "check_files: in order")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
