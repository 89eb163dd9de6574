# SPDX-License-Identifier: Apache-2.0
"""pawl phases: what it promises to print, that its numbers agree with each other, and that the exit status is
that of the verdicts. No speed is judged."""

import json
import pathlib

from pawl_testing import PawlTest, main

TINY = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tiny" / "qwen3.gguf"
# As in bench_test.py: of that file, 2 layers of width 64, weights in 2 bytes each.
LAYER_WEIGHTS = 64 * (128 + 64 + 64 + 128 + 3 * 128)
OUTPUT_WEIGHTS = 64 * 512
KV_BYTES = 2 * 2 * (32 + 32) * 2
PAIR_TERMS = 2 * 4 * (32 + 32)


class Phases(PawlTest):
    def document(self, *words):
        result = self.pawl("phases", "-m", TINY, "--json", *words)
        document = json.loads(result.stdout)
        self.assertEqual(result.returncode, 0 if document["holds"] else 1, result.stderr)
        return document

    def test_the_document_holds_what_is_promised(self):
        document = self.document("--prompt", "4..16,40", "-n", "3", "-r", "3", "-t", "2")
        self.assertEqual([row["prompt"] for row in document["lengths"]], [4, 8, 16, 40])
        for key in ("cpu", "isa", "threads", "rounds", "step_tokens", "cores_had"):
            self.assertIn(key, document["conditions"])
        for row in document["lengths"]:
            self.assertEqual(len(row["rounds"]), 3)
            for phase in (row["prefill"], row["decode"]):
                self.assertAlmostEqual(phase["intensity"], phase["operations_per_token"] / phase["bytes_per_token"])
                self.assertAlmostEqual(phase["GBps"], phase["bytes_per_token"] * phase["tok_s"] / 1e9)
                is_compute = phase["intensity"] >= row["limits"]["ridge"]
                self.assertEqual(phase["bound"]["by_roofline"], "compute" if is_compute else "bandwidth")
                self.assertEqual(phase["bound"]["by_time"],
                                 "compute" if phase["doubling"]["value"] >= .5 else "bandwidth")
            self.assertLessEqual(row["exchange"]["low"], row["exchange"]["value"])
            self.assertLessEqual(row["exchange"]["value"], row["exchange"]["high"])
        for name in ("cached", "uncached"):
            self.assertIn(document["token_cost"][name]["shape"], ("flat", "linear", "curved"))
        verdicts = {verdict["name"]: verdict["holds"] for verdict in document["verdicts"]}
        self.assertEqual(list(verdicts), ["prefill", "decode", "parallel", "cache"])
        self.assertEqual(document["holds"], False not in verdicts.values())

    def test_bytes_and_operations_are_those_of_the_file(self):
        row = self.document("--prompt", "32", "-n", "1", "-r", "1")["lengths"][0]
        weights = 2 * (2 * LAYER_WEIGHTS + OUTPUT_WEIGHTS)
        self.assertEqual(row["decode"]["bytes_per_token"], weights + 33 * KV_BYTES)
        self.assertEqual(row["decode"]["operations_per_token"],
                         2 * (2 * LAYER_WEIGHTS + OUTPUT_WEIGHTS + 33 * PAIR_TERMS))
        self.assertEqual(row["prefill"]["bytes_per_token"], (weights + 32 * KV_BYTES) / 32)
        self.assertEqual((row["exchange"]["low"], row["exchange"]["high"]), (None, None))

    def test_lengths_that_do_not_fit_are_left_out_only_where_nobody_asked(self):
        document = self.document("-n", "2", "-r", "1")
        self.assertEqual([row["prompt"] for row in document["lengths"]], [16, 32, 64, 128])
        self.assert_error(self.pawl("phases", "-m", TINY, "--prompt", "16..1024"), 2, "256")

    def test_the_tables_name_every_length_and_the_verdicts(self):
        result = self.pawl("phases", "-m", TINY, "--prompt", "4,100", "-n", "2", "-r", "2")
        self.assertIn(result.returncode, (0, 1))
        self.assertEqual(result.stderr, "")
        starts = [line.split()[0] for line in result.stdout.splitlines() if line.strip()]
        self.assertEqual(starts.count("100"), 3)
        self.assertEqual(sum(word in ("holds", "fails", "open") for word in starts), 4)

    def test_a_machine_that_is_not_here(self):
        result = self.pawl("phases", "--hardware", "a100-80gb", "--kv-bytes", "0", "--json")
        self.assert_done(result)
        document = json.loads(result.stdout)
        at = document["hardware"][0]["lengths"][0]
        # 153 operations per byte, two bytes a weight, half of the arithmetic and three quarters of the bandwidth.
        self.assertAlmostEqual(at["exchange"], 312e3 / 2039 * .5 / .75)
        self.assertEqual(at["claim"], "agrees")
        hangs = {(x["assumption"], x["value"]): x["exchange"] for x in document["hardware"][0]["hangs_on"]}
        self.assertAlmostEqual(hangs["weight bits", 8], at["exchange"] / 2)
        self.assertAlmostEqual(hangs["batch", 4], at["exchange"] / 4)

    def test_a_large_batch_is_not_bound_by_bandwidth(self):
        result = self.pawl("phases", "--hardware", "H100-SXM", "--kv-bytes", "0", "--batch", "512")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("fails  prefill is bound by arithmetic and decode by bandwidth", result.stdout)

    def test_a_file_of_machines(self):
        file = self.home / "mine.json"
        file.write_text('{"hardware": [{"name": "mine", "read_GBps": 100, "TFLOPS": 10, "arithmetic": "FP16", '
                        '"source": "made up"}]}')
        result = self.pawl("phases", "--hardware", file, "--json", "--params", "1e9", "--weight-bits", "8",
                           "--prompt", "512", "--prefill-share", "1", "--decode-share", "1")
        self.assert_done(result)
        at = json.loads(result.stdout)["hardware"][0]["lengths"][0]
        self.assertAlmostEqual(at["decode"]["tok_s"], 100)
        self.assertAlmostEqual(at["prefill"]["tok_s"], 5000)
        file.write_text('{"hardware": [{"name": "mine"}]}')
        self.assert_error(self.pawl("phases", "--hardware", file), 2, "hardware[0].read_GBps", "mine.json")
        self.assert_error(self.pawl("phases", "--hardware", self.home / "missing.json"), 3, "missing.json")

    def test_wrong_use_names_the_flag(self):
        for words, offender in [(["--prompt", "many"], "'many'"), (["--prompt", "1"], "--prompt"),
                                (["--prompt", "64..16"], "'64..16'"), (["-r", "0"], "--reps"),
                                (["--hardware", "abacus"], "'abacus'"), (["--batch", "2"], "--hardware"),
                                (["--hardware", "H200", "--prefill-share", "2"], "--prefill-share")]:
            with self.subTest(words=words):
                self.assert_error(self.pawl("phases", "-m", TINY, *words), 2, offender)


if __name__ == "__main__":
    main()
