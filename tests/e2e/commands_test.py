# SPDX-License-Identifier: Apache-2.0
"""The surface of the program: help, exit statuses, one-line errors, tokens of the default model."""

import array
import ast
import json
import math
import os
import pty
import shlex
import signal
import struct
import subprocess

from pawl_testing import DEFAULT_MODEL, PROGRAM, PawlTest, main, needs_default_model, tiny_gguf

COMMANDS = ["run", "logits", "trace", "trace verify", "diverge", "bench", "tokenize", "detokenize", "model list", "model get", "model show"]


class Help(PawlTest):
    def test_pawl_alone_gives_the_overview(self):
        for arguments in ((), ("--help",), ("help",)):
            result = self.pawl(*arguments)
            self.assert_done(result)
            for command in COMMANDS:
                self.assertIn(f"pawl {command}", result.stdout)

    def test_every_help_starts_with_a_sentence_and_an_example(self):
        for command in COMMANDS:
            result = self.pawl(*command.split(), "--help")
            self.assert_done(result)
            sentence, empty, example = result.stdout.splitlines()[:3]
            self.assertRegex(sentence, r"^[A-Z].*\.$")
            self.assertEqual(empty, "")
            self.assertTrue(example.startswith(f"  pawl {command}"), example)

    @needs_default_model
    def test_every_example_works_as_printed(self):
        self.models.mkdir()
        (self.models / DEFAULT_MODEL.name).symlink_to(DEFAULT_MODEL.resolve())
        for command in COMMANDS:
            example = self.pawl(*command.split(), "--help").stdout.splitlines()[2].strip()
            words = shlex.split(example)
            result = self.pawl(*words[1:], "--offline", folder=self.home)
            self.assertEqual(result.returncode, 0, example + "\n" + result.stderr)
            self.assertNotEqual(result.stdout + result.stderr, "", example)

    def test_version(self):
        self.assertRegex(self.pawl("--version").stdout, r"^pawl \d+\.\d+\.\d+\n$")


class Errors(PawlTest):
    def test_wrong_use_is_one_line_and_names_the_offender(self):
        for words, offender in [
                (["nope"], "'nope'"), (["model", "nope"], "'model nope'"), (["run", "--nope"], "'--nope'"),
                (["run", "-n", "many", "-p", "x"], "'many'"), (["run", "-p", "x", "-n"], "--max-tokens"),
                (["run", "-p", "x", "--top-p", "1.5"], "--top-p"), (["run"], "--prompt"),
                (["run", "-p", "x", "--temprature", "1"], "--temperature"),
                (["run", "-p", "x", "--greedy", "--temperature", "1"], "--greedy"),
                (["run", "-p", "x", "--context", "0"], "--context"), (["run", "-p", "x", "--seed", "-1"], "--seed"),
                (["run", "-p", "x", "-t", "0"], "--threads"), (["tokenize"], "TEXT"),
                (["tokenize", "a", "b"], "'b'"), (["detokenize"], "--ids"),
                (["detokenize", "--ids", "5,-1"], "'-1'"), (["detokenize", "--ids", "2147483648"], "2147483648"),
                (["tokenize", "x", "-m", "no-such-model"], "'no-such-model'")]:
            with self.subTest(words=words):
                self.assert_error(self.pawl(*words, "--offline"), 2, offender)

    def test_the_surroundings_are_status_3(self):
        self.assert_error(self.pawl("tokenize", "x", "-m", "/no/such.gguf"), 3, "/no/such.gguf")
        self.assert_error(self.pawl("tokenize", "x", "--offline"), 3, "gemma3-270m")

    def test_a_file_that_is_no_model_is_status_2(self):
        for name, data in [("text.gguf", b"hello"), ("empty.gguf", b""), ("cut.gguf", tiny_gguf()[:60])]:
            path = self.home / name
            path.write_bytes(data)
            self.assert_error(self.pawl("model", "show", path), 2, name)

    def test_a_full_disk_does_not_pass_for_done(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PROGRAM, "model", "list"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    env=self.environment())
        self.assertEqual(result.returncode, 3)
        self.assertTrue(result.stderr.startswith("pawl: error: "), result.stderr)


class Show(PawlTest):
    def test_a_file_is_shown_as_table_and_json(self):
        path = self.home / "tiny.gguf"
        path.write_bytes(tiny_gguf())
        table = self.pawl("model", "show", path)
        self.assert_done(table)
        self.assertIn("output.weight", table.stdout)
        document = json.loads(self.pawl("model", "show", path, "--json").stdout)
        self.assertEqual(document["architecture"], "llama")
        self.assertEqual(document["parameters"], 128)
        self.assertEqual(document["tensors"],
                         [{"name": "output.weight", "type": "F32", "shape": [32, 4], "bytes": 512}])
        self.assertEqual(document["metadata"]["general.name"], "tiny")


@needs_default_model
class Tokens(PawlTest):
    """Ids of the model's published tokenizer: shared/golden/tokenizers holds the full comparison."""

    def json(self, *words):
        result = self.pawl(words[0], "-m", DEFAULT_MODEL, "--json", *words[1:])
        self.assert_done(result)
        return json.loads(result.stdout)

    def test_a_text_goes_to_ids_and_back(self):
        for text in ["The sea is blue", " two  spaces ", "Grüße 🙂\n\ttab", "<bos> typed", "[a, b]", "-x", ""]:
            with self.subTest(text=text):
                ids = self.json("tokenize", "--no-bos", "--", text)["ids"]
                shown = self.json("detokenize", "--ids", ",".join(map(str, ids)))
                self.assertEqual(shown["text"], text)

    def test_bos_and_special_tokens_are_asked_for(self):
        self.assertEqual(self.json("tokenize", "hi")["ids"][0], 2)
        self.assertNotEqual(self.json("tokenize", "hi", "--no-bos")["ids"][0], 2)
        self.assertEqual(self.json("tokenize", "<eos>", "--no-bos", "--special")["ids"], [1])
        self.assertNotIn(1, self.json("tokenize", "<eos>", "--no-bos")["ids"])

    def test_pieces_stand_beside_their_ids(self):
        document = self.json("tokenize", "The sea")
        self.assertEqual(len(document["ids"]), len(document["pieces"]))
        self.assertEqual("".join(document["pieces"][1:]), "The sea")

    def test_an_id_outside_the_vocabulary_is_named(self):
        result = self.pawl("detokenize", "-m", DEFAULT_MODEL, "--ids", "1,262144")
        self.assert_error(result, 2, "262144", "262143")


@needs_default_model
class Run(PawlTest):
    def run_json(self, *words):
        result = self.pawl("run", "-m", DEFAULT_MODEL, "--json", *words)
        self.assert_done(result)
        return json.loads(result.stdout)

    def test_the_document_holds_what_is_promised(self):
        document = self.run_json("-p", "The sea is", "-n", "5", "--greedy")
        for key in ("model", "prompt_ids", "output_ids", "text", "finish_reason", "usage", "timings"):
            self.assertIn(key, document)
        usage = document["usage"]
        self.assertEqual(usage["prompt_tokens"], len(document["prompt_ids"]))
        self.assertEqual(usage["completion_tokens"], len(document["output_ids"]))
        self.assertEqual((document["finish_reason"], usage["completion_tokens"]), ("length", 5))
        for key in ("load_ms", "tokenize_ms", "prefill_ms", "decode_ms", "ttft_ms", "total_ms"):
            self.assertIsInstance(document["timings"][key], (int, float))

    def test_ids_stand_for_a_text_and_greedy_repeats(self):
        first = self.run_json("-p", "The sea is", "-n", "6", "--greedy")
        ids = ",".join(map(str, first["prompt_ids"]))
        self.assertEqual(self.run_json("--ids", ids, "-n", "6", "--greedy")["output_ids"], first["output_ids"])

    def test_a_seed_repeats_and_is_told(self):
        first = self.run_json("-p", "Once", "-n", "6")
        again = self.run_json("-p", "Once", "-n", "6", "--seed", first["seed"])
        self.assertEqual(first["output_ids"], again["output_ids"])

    def test_a_stop_text_is_not_given_out(self):
        text = self.run_json("-p", "1, 2, 3, 4,", "-n", "12", "--greedy")["text"]
        word = text.strip().split(",")[0] + ","
        stopped = self.run_json("-p", "1, 2, 3, 4,", "-n", "12", "--greedy", "--stop", word)
        self.assertEqual(stopped["finish_reason"], "stop")
        self.assertEqual(stopped["text"], text[:text.index(word)])

    def test_the_last_line_splits_the_time(self):
        result = self.pawl("run", "-m", DEFAULT_MODEL, "-p", "The sea is", "-n", "4", "--greedy")
        self.assert_done(result)
        self.assertRegex(result.stderr.splitlines()[-1],
                         r"^4 prompt tokens in .* ms · 4 output tokens in .* ms \(.*/s\) · first token after "
                         r".* ms · one output token cost as much as .* prompt tokens$")

    def test_an_interrupt_prints_what_landed_and_ends_with_130(self):
        process = self.start("run", "-m", DEFAULT_MODEL, "-p", "Once upon a time", "-n", "4000", "--ignore-eos")
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertNotEqual(first, "")
        self.assertTrue(rest.endswith("\n"))
        self.assertIn("output token", err.splitlines()[-1])

    def test_logprobs_are_those_of_the_untouched_row(self):
        document = self.run_json("-p", "The sea is", "-n", "1", "--greedy", "--logprobs", "--top-logprobs", "3")
        row, = document["logprobs"]
        seen = self.pawl("logits", "-m", DEFAULT_MODEL, "-p", "The sea is", "--top", "3", "--json", "--greedy")
        top = json.loads(seen.stdout)["positions"][0]["top"]
        self.assertEqual(row["id"], top[0]["id"])
        for shown, entry in zip(row["top"], top, strict=True):
            self.assertEqual(shown["id"], entry["id"])
            self.assertAlmostEqual(math.exp(shown["logprob"]), entry["p"], places=5)
        self.assert_error(self.pawl("run", "-m", DEFAULT_MODEL, "-p", "x", "--logprobs"), 2, "--json")

    def test_on_a_terminal_it_asks_for_texts_until_the_end_of_input(self):
        try:
            ours, theirs = pty.openpty()
        except OSError as error:
            self.skipTest(f"missing: a pseudo-terminal ({error})")
        process = subprocess.Popen([PROGRAM, "run", "-m", str(DEFAULT_MODEL), "-n", "3", "--greedy"], stdin=theirs,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment())
        os.close(theirs)
        os.write(ours, b"The sea is\nOnce upon a\n\x04")
        out, err = process.communicate(timeout=120)
        os.close(ours)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(err.decode().count("3 output tokens"), 2)
        self.assertEqual(len(out.decode().strip().splitlines()), 2)


@needs_default_model
class Logits(PawlTest):
    def logits(self, *words):
        result = self.pawl("logits", "-m", DEFAULT_MODEL, "--json", *words)
        self.assert_done(result)
        return json.loads(result.stdout)

    def test_the_file_holds_the_rows_that_are_shown(self):
        path = self.home / "rows.npy"
        document = self.logits("-p", "The sea is", "--at", "all", "--top", "3", "--out", path)
        data = path.read_bytes()
        self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
        start = 10 + struct.unpack("<H", data[8:10])[0]
        header = ast.literal_eval(data[10:start].decode())
        self.assertEqual((header["descr"], header["fortran_order"], start % 64), ("<f4", False, 0))
        rows, columns = header["shape"]
        self.assertEqual(rows, len(document["positions"]))
        self.assertEqual(len(data) - start, rows * columns * 4)
        for position in document["positions"]:
            row = array.array("f", data[start + position["index"] * columns * 4:][:columns * 4])
            largest = max(row)
            expected = largest + math.log(math.fsum(math.exp(x - largest) for x in row))
            self.assertAlmostEqual(position["logsumexp"], expected, places=4)
            self.assertEqual([e["logit"] for e in position["top"]], sorted(row, reverse=True)[:3])
            for entry in position["top"]:
                self.assertEqual(row[entry["id"]], entry["logit"])

    def test_each_rule_shows_what_it_left(self):
        document = self.logits("-p", "The sea is", "--top-k", "40", "--temperature", "0.8", "--seed", "3")
        stages = {s["name"]: s for s in document["stages"]}
        self.assertEqual(list(stages), ["logits", "top_k", "temperature"])
        self.assertEqual(stages["top_k"]["kept"], 40)
        before, after = stages["logits"]["top"][0], stages["temperature"]["top"][0]
        self.assertAlmostEqual(after["logit"], before["logit"] / 0.8, places=3)
        self.assertEqual(list({s["name"] for s in self.logits("-p", "x")["stages"]}), ["logits"])

    def test_a_position_outside_the_text_is_named(self):
        for at in ("9", "-1", "first"):
            self.assert_error(self.pawl("logits", "-m", DEFAULT_MODEL, "-p", "hi", "--at", at), 2, f"'{at}'")


if __name__ == "__main__":
    main()
