# SPDX-License-Identifier: Apache-2.0
"""pawl bench: what it promises to print, and that its numbers agree with each other. No speed is judged."""

import json
import os
import pathlib
import shutil
import signal
import tempfile

from pawl_testing import PawlTest, main

TINY = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tiny" / "qwen3.gguf"
# Of that file: 2 layers, width 64, 4 query and 2 key heads of 32, feed-forward 128, vocabulary 512; weights in
# 2 bytes each, keys and values too.
LAYER_WEIGHTS = 64 * (128 + 64 + 64 + 128 + 3 * 128)
LAYER_INPUTS = 64 * (4 * 32 + 2 * 2 * 32)  # of these, what makes queries, keys and values
OUTPUT_WEIGHTS = 64 * 512
KV_BYTES = 2 * 2 * (32 + 32) * 2  # of one position
PAIR_TERMS = 2 * 4 * (32 + 32)    # of one query and one position


class Bench(PawlTest):
    def bench(self, *words):
        result = self.pawl("bench", "-m", TINY, *words)
        self.assert_done(result)
        return result

    def test_the_document_holds_what_is_promised(self):
        document = json.loads(self.bench("--json", "-p", "16,40", "-n", "8", "-d", "0,32", "-b", "1,3", "-r", "3",
                                         "-t", "2").stdout)
        machine = document["machine"]
        for key in ("cpu", "isa", "threads", "read_GBps", "best_read_GBps", "int8_GOPS"):
            self.assertIn(key, machine)
        self.assertEqual(machine["threads"], 2)
        self.assertGreater(machine["read_GBps"], 0)
        self.assertGreater(machine["int8_GOPS"], 0)
        shapes = [(row["test"], row["tokens"], row["batch"], row["depth"]) for row in document["rows"]]
        self.assertEqual(shapes, [("prefill", 16, 1, 0), ("prefill", 40, 1, 0), ("prefill", 16, 1, 32),
                                  ("prefill", 40, 1, 32), ("decode", 8, 1, 0), ("decode", 8, 3, 0),
                                  ("decode", 8, 1, 32), ("decode", 8, 3, 32)])
        for row in document["rows"]:
            rate = row["tok_s"]
            self.assertTrue(0 < rate["min"] <= rate["median"] <= rate["max"], row)
            self.assertAlmostEqual(row["GBps"], row["bytes_per_token"] * rate["median"] / 1e9)
            self.assertAlmostEqual(row["GOPS"], row["operations_per_token"] * rate["median"] / 1e9)
            self.assertEqual(row["isa"], machine["isa"])
        # Of one repetition the share follows from its rate and the limits of its time.
        for row in json.loads(self.bench("--json", "-p", "16", "-n", "8", "-b", "1,3", "-r", "1").stdout)["rows"]:
            shares = {"read": row["GBps"] / row["read_GBps"], "int8": row["GOPS"] / row["int8_GOPS"]}
            self.assertAlmostEqual(row["of_limit"], max(shares.values()))
            self.assertEqual(row["limit"], max(shares, key=shares.get))

    def test_bytes_and_operations_are_those_of_the_file(self):
        rows = json.loads(self.bench("--json", "-p", "16", "-n", "8", "-d", "32", "-b", "3", "-r", "1").stdout)["rows"]
        prefill, decode = rows
        weights = 2 * (2 * LAYER_WEIGHTS + OUTPUT_WEIGHTS)
        self.assertEqual(prefill["bytes_per_token"], (weights + 48 * KV_BYTES) / 16)
        # The last of two layers makes queries, keys and values of all, and goes on with the last row alone.
        pairs = (sum(range(33, 49)) + 48) / 2
        matrices = 16 * (LAYER_WEIGHTS + LAYER_INPUTS) + (LAYER_WEIGHTS - LAYER_INPUTS) + OUTPUT_WEIGHTS
        self.assertEqual(prefill["operations_per_token"], 2 * (matrices + pairs * PAIR_TERMS) / 16)
        context = sum(range(33, 41)) / 8  # of the mean decode step
        self.assertEqual(decode["bytes_per_token"], weights / 3 + context * KV_BYTES)
        self.assertEqual(decode["operations_per_token"],
                         2 * (2 * LAYER_WEIGHTS + OUTPUT_WEIGHTS + context * PAIR_TERMS))

    def test_the_table_has_a_line_for_each_row_and_names_the_limits(self):
        result = self.bench("-p", "16", "-n", "4", "-b", "1,2", "-r", "1")
        self.assertEqual(result.stderr, "")
        self.assertIn("GB/s", result.stdout)
        kinds = [line.split()[0] for line in result.stdout.splitlines() if " % of " in line]
        self.assertEqual(kinds, ["prefill", "decode", "decode"])

    def test_greedy_rows_count_what_was_computed(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        model = folder / "q8_0.gguf"
        self.assert_done(self.pawl("quantize", "-m", TINY, "-o", model, "--type", "q8_0", "--pure"))
        result = self.pawl("bench", "-m", model, "-p", "0", "-n", "16", "-b", "1,2", "-r", "2", "--greedy", "--json")
        self.assert_done(result)
        document = json.loads(result.stdout)
        greedy, pair = document["rows"]
        self.assertEqual([(row["test"], row["batch"]) for row in (greedy, pair)], [("greedy", 1), ("greedy", 2)])
        self.assertTrue(all(0 <= row["whole_rows"] <= 1 for row in (greedy, pair)))
        rows = json.loads(self.bench("-p", "16", "-n", "2", "-r", "1", "--json").stdout)["rows"]
        self.assertFalse([row for row in rows if "whole_rows" in row])
        self.assertGreater(greedy["whole_rows"] + greedy["exact_rows"], 0, greedy)
        # Codes of 8 bits and a 16-bit scale for 32 of them; of the output 5 bits, a bound per row and the exact rows.
        weights = 2 * LAYER_WEIGHTS * 34 / 32
        context = sum(range(1, 17)) / 16 * KV_BYTES
        whole = OUTPUT_WEIGHTS * 34 / 32
        if document["machine"]["isa"] in ("scalar", "avx2"):  # unpacking binds: rows are computed as ever
            self.assertEqual((greedy["whole_rows"], greedy["exact_rows"]), (1, 0))
            self.assertAlmostEqual(greedy["bytes_per_token"], weights + context + whole, delta=16)
            return
        coarse = OUTPUT_WEIGHTS * 22 / 32 + 2 * 512
        expected = weights + context + coarse + greedy["exact_rows"] * whole / 512 + greedy["whole_rows"] * whole
        self.assertAlmostEqual(greedy["bytes_per_token"], expected, delta=16)
        table = self.pawl("bench", "-m", model, "-p", "0", "-n", "4", "-b", "1", "-r", "1", "--greedy")
        self.assert_done(table)
        self.assertRegex(table.stdout, r"greedy .*\n +of a row's logits \d+ in full; the whole row in \d+\.\d % of the passes")

    def test_a_variant_can_be_forced(self):
        result = self.pawl("bench", "-m", TINY, "-p", "4", "-n", "0", "-r", "1", "--json", PAWL_ISA="scalar")
        self.assert_done(result)
        self.assertEqual(json.loads(result.stdout)["machine"]["isa"], "scalar")

    def test_wrong_use_names_the_flag(self):
        for words, offender in [(["-p", "many"], "'many'"), (["-p", "1,,2"], "--prompt"), (["-b", "0"], "--batch"),
                                (["-d", "-1"], "--depth"), (["-p", "0", "-n", "0"], "--tokens"), (["-r", "0"], "--reps"),
                                (["-p", "16", "-d", "4096"], "256")]:
            with self.subTest(words=words):
                self.assert_error(self.pawl("bench", "-m", TINY, *words), 2, offender)

    def test_an_interrupt_ends_it_with_one_line(self):
        process = self.start("bench", "-m", TINY, "-p", "16", "-r", "10000", "--json")
        # Ready as soon as signals are watched for: its watching thread then has them blocked.
        status = pathlib.Path(f"/proc/{process.pid}/status")
        interrupt = 1 << (signal.SIGINT - 1)
        while not int(next(line for line in status.read_text().splitlines()
                           if line.startswith("SigBlk")).split()[1], 16) & interrupt:
            os.sched_yield()
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertTrue(err.splitlines()[-1].startswith("pawl: error: interrupted"), err)


if __name__ == "__main__":
    main()
