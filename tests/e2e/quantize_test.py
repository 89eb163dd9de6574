# SPDX-License-Identifier: Apache-2.0
"""pawl quantize as a user meets it, what it leaves behind, and model files that are refused."""

import json
import pathlib
import shutil
import signal
import struct
import time

from pawl_testing import PawlTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ROOT / "tests" / "golden" / "tiny"
MODEL = TINY / "qwen3.gguf"


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


class Quantize(PawlTest):
    def setUp(self):
        super().setUp()
        self.out = self.home / "out.gguf"

    def test_a_file_is_written_and_runs(self):
        result = self.pawl("quantize", "-m", MODEL, "-o", self.out, "--type", "q8_0", "--json")
        self.assert_done(result)
        told = json.loads(result.stdout)
        self.assertEqual(told["bytes"], self.out.stat().st_size)
        self.assertLess(told["bytes"], 0.65 * told["bytes_before"])
        kinds = {row["name"]: row["to"] for row in told["tensors"]}
        self.assertEqual(kinds["blk.0.attn_q.weight"], "Q8_0")
        self.assertEqual(kinds["blk.0.attn_norm.weight"], "F32")
        answers = [self.pawl("run", "-m", path, "--ids", "5,6,7", "-n", "8", "--greedy", "--json")
                   for path in (MODEL, self.out)]
        ids = [json.loads(answer.stdout)["output_ids"] for answer in answers]
        self.assertEqual(ids[0][:2], ids[1][:2])  # 8 bits leave the first choices as they are

    def test_what_cannot_be_done_is_one_line(self):
        self.assert_error(self.pawl("quantize", "-m", MODEL, "-o", self.out, "--type", "q3"), 2, "'q3'", "q4_k_m")
        self.assert_error(self.pawl("quantize", "-m", MODEL), 2, "--out")
        copy = self.home / "model.gguf"
        shutil.copy(MODEL, copy)
        self.assert_error(self.pawl("quantize", "-m", copy, "-o", copy, "--type", "q8_0"), 2, "itself")
        self.assert_error(self.pawl("quantize", "-m", MODEL, "-o", copy, "--type", "q8_0"), 2, "--force", str(copy))
        self.assert_error(self.pawl("quantize", "-m", MODEL, "-o", self.home / "no" / "x.gguf"), 3, "cannot write")
        self.assertEqual(copy.read_bytes(), MODEL.read_bytes())
        self.assertEqual(sorted(p.name for p in self.home.iterdir()), ["model.gguf"])

    def test_what_is_quantised_already_is_refused(self):
        self.assert_done(self.pawl("quantize", "-m", MODEL, "-o", self.out, "--type", "q8_0"))
        again = self.pawl("quantize", "-m", self.out, "-o", self.home / "again.gguf", "--type", "q4_0")
        self.assert_error(again, 2, "quantised already", str(self.out))

    def test_ctrl_c_leaves_nothing(self):
        # Large enough to be met half way, and no bytes on the disk.
        big = self.home / "big.gguf"
        rows, columns = 40000, 2048
        head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
        head += text("output.weight") + struct.pack("<IQQIQ", 2, columns, rows, 0, 0)
        head += bytes(-len(head) % 32)
        with open(big, "wb") as file:
            file.write(head)
            file.truncate(len(head) + 4 * rows * columns)
        process = self.start("quantize", "-m", big, "-o", self.out, "--type", "q4_k")
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            parts = [p for p in self.home.iterdir() if ".partial" in p.name]
            if parts and parts[0].stat().st_size > 1 << 20:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0:  # it may have been done before the signal came
            self.assertEqual(process.returncode, 130, errors)
            self.assertFalse(self.out.exists())
        self.assertEqual([p.name for p in self.home.iterdir() if ".partial" in p.name], [])


class BadModels(PawlTest):
    """A fault of each kind ends in one line that names the thing."""

    def refused(self, old, new, *words):
        data = MODEL.read_bytes()
        self.assertIn(old, data)
        path = self.home / "bad.gguf"
        path.write_bytes(data.replace(old, new, 1))
        self.assert_error(self.pawl("run", "-m", path, "-p", "x", "-n", "1"), 2, *words)

    def test_a_missing_tensor(self):
        self.refused(b"blk.1.ffn_up.weight", b"blk.1.ffn_ux.weight", "blk.1.ffn_up.weight", "missing")

    def test_a_wrong_shape(self):
        name = b"blk.1.ffn_up.weight" + struct.pack("<I", 2)
        data = MODEL.read_bytes()
        at = data.index(name) + len(name)
        columns, rows = struct.unpack_from("<QQ", data, at)
        self.refused(data[at - len(name):at + 16], name + struct.pack("<QQ", columns * 2, rows // 2),
                     "blk.1.ffn_up.weight", f"[{columns * 2}, {rows // 2}]", f"[{columns}, {rows}]")

    def test_an_unknown_architecture(self):
        key = text("general.architecture") + struct.pack("<I", 8)
        self.refused(key + text("qwen3"), key + text("qwenX"), "general.architecture", "'qwenX'")

    def test_S004_an_unknown_pretokenizer(self):
        key = text("tokenizer.ggml.pre") + struct.pack("<I", 8)
        self.refused(key + text("qwen2"), key + text("made5"), "tokenizer.ggml.pre", "'made5'", "--pre")


if __name__ == "__main__":
    main()
