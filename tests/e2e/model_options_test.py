# SPDX-License-Identifier: Apache-2.0
"""--lora and --kv as a user meets them: the same to each command that opens a model; what is refused."""

import json
import pathlib
import struct

from pawl_testing import PawlTest, main

TINY = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "tiny"
MODEL = TINY / "qwen3.gguf"


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def adapter(architecture, name, columns, rows, down=0.25, up=0.5):
    """An adapter of rank 2 for one tensor, by the format's description."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 4)
    for key, value in (("general.type", "adapter"), ("general.architecture", architecture), ("adapter.type", "lora")):
        head += text(key) + struct.pack("<I", 8) + text(value)
    head += text("adapter.lora.alpha") + struct.pack("<If", 6, 4.0)
    first = 2 * columns * 4
    head += text(name + ".lora_a") + struct.pack("<IQQIQ", 2, columns, 2, 0, 0)
    head += text(name + ".lora_b") + struct.pack("<IQQIQ", 2, 2, rows, 0, first)
    head += bytes(-len(head) % 32)
    return head + struct.pack(f"<{2 * columns}f", *[down] * (2 * columns)) + struct.pack(f"<{2 * rows}f", *[up] * (2 * rows))


class Adapters(PawlTest):
    def setUp(self):
        super().setUp()
        self.file = self.home / "adapter.gguf"

    def logits(self, *more):
        result = self.pawl("logits", "-m", MODEL, "--ids", "5,6,7", "--json", "--top", "3", "--reference", *more)
        self.assert_done(result)
        return [(row["id"], row["logit"]) for row in json.loads(result.stdout)["positions"][0]["top"]]

    def test_an_adapter_changes_logits_by_its_scale(self):
        shown = json.loads(self.pawl("model", "show", MODEL, "--json").stdout)
        shape = next(t for t in shown["tensors"] if t["name"] == "blk.0.ffn_down.weight")["shape"]
        self.file.write_bytes(adapter("qwen3", "blk.0.ffn_down.weight", *shape))
        plain = self.logits()
        self.assertNotEqual(self.logits("--lora", self.file), plain)
        self.assertNotEqual(self.logits("--lora", f"{self.file}=0.5"), self.logits("--lora", self.file))
        self.assertEqual(self.logits("--lora", f"{self.file}=0"), plain)

    def test_what_is_wrong_with_an_adapter_is_named(self):
        run = ["run", "-m", MODEL, "--ids", "5", "-n", "1"]
        for data, *words in ((adapter("llama", "blk.0.ffn_down.weight", 64, 64), "general.architecture", "'llama'", "'qwen3'"),
                             (adapter("qwen3", "blk.77.ffn_down.weight", 64, 64), "blk.77.ffn_down.weight"),
                             (adapter("qwen3", "blk.0.attn_q.weight", 56, 64), "blk.0.attn_q.weight.lora_a", "[56, 2]")):
            self.file.write_bytes(data)
            self.assert_error(self.pawl(*run, "--lora", self.file), 2, str(self.file), *words)
        self.assert_error(self.pawl(*run, "--lora", MODEL), 2, "general.type")
        self.assert_error(self.pawl(*run, "--lora", self.home / "none.gguf"), 3, "none.gguf")
        self.assert_error(self.pawl(*run, "--lora", f"{self.file}=much"), 2, "--lora", "'much'")


class Cache(PawlTest):
    def test_keys_and_values_in_8_bits(self):
        run = ["run", "-m", MODEL, "--ids", "5,6,7", "-n", "16", "--greedy", "--json"]
        answers = [json.loads(self.pawl(*run, "--kv", kind).stdout)["output_ids"] for kind in ("f16", "q8_0", "f16+q8_0")]
        self.assertEqual(answers[0][:2], answers[1][:2])
        self.assertEqual(answers[0][:2], answers[2][:2])
        self.assert_error(self.pawl(*run, "--kv", "q4"), 2, "--kv", "'q4'", "f16+q8_0")
        self.assert_error(self.pawl(*run, "--kv", "q8_0", "--reference"), 2, "--kv")

    def test_keys_that_have_biases_stay_in_16_bits_which_is_said(self):
        run = ["logits", "-m", TINY / "qwen2.gguf", "--ids", "5,6,7", "--json", "--kv"]
        coded, values = self.pawl(*run, "q8_0"), self.pawl(*run, "f16+q8_0")
        self.assert_done(coded)
        self.assertIn("keys of this model have biases", coded.stderr)
        self.assertEqual(json.loads(coded.stdout)["positions"], json.loads(values.stdout)["positions"])
        self.assertNotIn("biases", values.stderr)


class EveryCommand(PawlTest):
    """--kv and --lora mean the same to each command that opens a model."""

    def setUp(self):
        super().setUp()
        self.file = self.home / "adapter.gguf"
        self.file.write_bytes(adapter("qwen3", "blk.0.ffn_down.weight", 128, 64))
        self.flags = ("--kv", "q8_0", "--lora", f"{self.file}=0.5")
        self.adapters = [{"path": str(self.file), "scale": 0.5}]

    def test_logits_and_embeddings_change(self):
        for command, key in (("logits", "positions"), ("embed", "embeddings")):
            plain = [command, "-m", MODEL, "--ids", "5,6,7", "--json"]
            if command == "embed":
                plain += ["--pooling", "mean"]
            told = [json.loads(self.pawl(*plain, *more).stdout)[key] for more in ((), self.flags[:2], self.flags[2:])]
            self.assertNotEqual(told[0], told[1], command)
            self.assertNotEqual(told[0], told[2], command)

    def test_bench_and_phases_say_so(self):
        for command, where in ((["bench", "-p", "8", "-n", "2", "-b", "1", "-r", "1"], lambda d: d),
                               (["phases", "-p", "8,16", "-n", "2", "-r", "2"], lambda d: d["conditions"])):
            results = [self.pawl(*command, "-m", MODEL, "--json", *more) for more in ((), self.flags)]
            told = [json.loads(result.stdout) for result in results]
            self.assertEqual(where(told[0])["kv_type"], "f16")
            self.assertEqual(where(told[0])["adapters"], [])
            self.assertEqual(where(told[1])["kv_type"], "q8_0")
            self.assertEqual(where(told[1])["adapters"], self.adapters)

    def test_bench_counts_the_bytes_of_the_cache_it_has(self):
        bench = ["bench", "-m", MODEL, "-p", "0", "-n", "2", "-b", "1", "-d", "128", "-r", "1", "--json", "--kv"]
        counted = {kind: json.loads(self.pawl(*bench, kind).stdout)["rows"][0]["bytes_per_token"]
                   for kind in ("f16", "f16+q8_0", "q8_0")}
        self.assertGreater(counted["f16"], counted["f16+q8_0"])
        self.assertAlmostEqual(counted["f16"] - counted["q8_0"], 2 * (counted["f16"] - counted["f16+q8_0"]), delta=1)

    def test_a_trace_names_both_and_is_verified_with_them(self):
        trace = self.home / "t.jsonl"
        self.assert_done(self.pawl("trace", "-m", MODEL, "--ids", "5,6,7", "-n", "6", "--greedy", "--out", trace, *self.flags))
        lines = trace.read_text().splitlines()
        header = json.loads(lines[0])
        self.assertEqual(header["kv_type"], "q8_0")
        self.assertEqual([(a["path"], a["scale"], len(a["sha256"])) for a in header["adapters"]], [(str(self.file), 0.5, 64)])
        verified = self.pawl("trace", "verify", trace, "-m", MODEL)
        self.assert_done(verified)
        self.assertIn("adapter", verified.stdout)
        for change in ({"kv_type": "f16"}, {"adapters": []}):
            trace.write_text("\n".join([json.dumps(header | change), *lines[1:]]) + "\n")
            result = self.pawl("trace", "verify", trace, "-m", MODEL)
            self.assertEqual(result.returncode, 1, change)
        trace.write_text("\n".join(lines) + "\n")
        self.file.write_bytes(adapter("qwen3", "blk.0.ffn_down.weight", 128, 64, down=0.5))
        result = self.pawl("trace", "verify", trace, "-m", MODEL)
        self.assertEqual(result.returncode, 1)
        self.assertIn("SHA-256", result.stdout)

    def test_diverge_keeps_them_with_its_results(self):
        out = self.home / "d.jsonl"
        prompts = self.home / "p.txt"
        prompts.write_text("one two three\n")
        diverge = ["diverge", "-m", MODEL, "--prompts", prompts, "--n", "1", "--out", out, "--json"]
        self.assert_done(self.pawl(*diverge, *self.flags))
        header = json.loads(out.read_text().splitlines()[0])
        self.assertEqual((header["kv_type"], header["adapters"]), ("q8_0", self.adapters))
        self.assert_error(self.pawl(*diverge), 2, str(out))


if __name__ == "__main__":
    main()
