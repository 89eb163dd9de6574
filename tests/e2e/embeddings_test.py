# SPDX-License-Identifier: Apache-2.0
"""Vectors for texts, on the command line and over HTTP, against those of llama.cpp's embedding program
(tests/golden/embeddings)."""

import array
import base64
import json
import math
import pathlib
import threading

from pawl_testing import PawlTest, main
from server_testing import Server, TINY

CASES = json.loads((TINY.parent / "embeddings" / "vectors.json").read_text())["cases"]
PATH = "/v1/embeddings"


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))


class CommandLine(PawlTest):
    def embed(self, model, *words):
        result = self.pawl("embed", "-m", TINY / f"{model}.gguf", "--json", *words)
        self.assert_done(result)
        return json.loads(result.stdout)

    def test_vectors_are_those_of_the_reference_program(self):
        for case in CASES[::3]:
            raw = [] if case["normalised"] else ["--raw"]
            told = self.embed(case["model"], "-p", case["text"], "--pooling", case["pooling"], "--reference", *raw)
            self.assertEqual(told["embeddings"][0]["ids"], case["ids"])
            self.assertEqual((told["pooling"], told["width"]), (case["pooling"], len(case["vector"])))
            # That program looks GELU up in a table of 16-bit floats.
            delta = 2e-2 if case["model"] in ("gemma3", "gpt2") else 2e-4
            for mine, theirs in zip(told["embeddings"][0]["vector"], case["vector"]):
                self.assertAlmostEqual(mine, theirs, delta=delta)

    def test_the_fast_mode_points_the_same_way(self):
        for case in CASES[::5]:
            told = self.embed(case["model"], "-p", case["text"], "--pooling", case["pooling"])
            self.assertGreater(cosine(told["embeddings"][0]["vector"], case["vector"]), 0.9999)

    def test_lines_and_npy(self):
        lines = self.home / "lines.txt"
        lines.write_text("one\n\ntwo words\nthree more words\n")
        out = self.home / "out.npy"
        told = self.embed("qwen3", "--lines", lines, "--out", out)
        self.assertEqual(len(told["embeddings"]), 3)
        data = out.read_bytes()
        self.assertIn(b"'shape': (3, 64)", data)
        numbers = array.array("f", data[-3 * 64 * 4:])
        self.assertEqual(list(numbers[64:128]), [array.array("f", [x])[0] for x in told["embeddings"][1]["vector"]])

    def test_wrong_use_is_one_line(self):
        model = ["embed", "-m", TINY / "qwen3.gguf"]
        self.assert_error(self.pawl(*model, "-p", "x", "--pooling", "max"), 2, "--pooling", "'max'")
        self.assert_error(self.pawl(*model), 2, "--prompt")
        self.assert_error(self.pawl(*model, "-p", "x", "--lines", "-"), 2, "--lines")


class OverHttp(PawlTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self, "--no-ledger", model=TINY / "llama-untied.gguf")
        self.cases = [case for case in CASES if case["model"] == "llama-untied"]

    def embed(self, **body):
        reply = self.server.post(PATH, body)
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()

    def test_vectors_are_those_of_the_reference_program(self):
        for case in self.cases:
            told = self.embed(input=case["text"], pooling=case["pooling"], normalize=case["normalised"])
            self.assertEqual(told["object"], "list")
            self.assertEqual(told["model"], "llama-untied")
            self.assertEqual(told["usage"], {"prompt_tokens": len(case["ids"]), "total_tokens": len(case["ids"])})
            (entry,) = told["data"]
            self.assertEqual((entry["object"], entry["index"]), ("embedding", 0))
            self.assertGreater(cosine(entry["embedding"], case["vector"]), 0.9999)

    def test_every_form_of_input_gives_the_same_numbers(self):
        one, two = self.cases[0], self.cases[1]
        alone = [self.embed(input=case["text"])["data"][0]["embedding"] for case in (one, two)]
        for given in ([one["text"], two["text"]], [one["ids"], two["ids"]], [one["text"], two["ids"]]):
            told = self.embed(input=given)
            self.assertEqual([entry["embedding"] for entry in told["data"]], alone)
            self.assertEqual([entry["index"] for entry in told["data"]], [0, 1])
        self.assertEqual(self.embed(input=one["ids"])["data"][0]["embedding"], alone[0])
        coded = self.embed(input=one["text"], encoding_format="base64")["data"][0]["embedding"]
        self.assertEqual(array.array("f", base64.b64decode(coded)), array.array("f", alone[0]))

    def test_a_neighbour_that_generates_changes_nothing(self):
        before = self.embed(input=self.cases[1]["text"])["data"]
        answer = self.server.post("/v1/completions", {"prompt": [5, 6], "max_tokens": 100, "temperature": 0,
                                                      "ignore_eos": True}).json()["choices"][0]["text"]
        seen = []
        beside = threading.Thread(target=lambda: seen.append(self.server.post(
            "/v1/completions", {"prompt": [5, 6], "max_tokens": 100, "temperature": 0, "ignore_eos": True}).json()))
        beside.start()
        for _ in range(10):
            self.assertEqual(self.embed(input=self.cases[1]["text"])["data"], before)
        beside.join()
        self.assertEqual(seen[0]["choices"][0]["text"], answer)

    def test_what_cannot_be_done_is_refused_by_name(self):
        def refused(status, field, **body):
            reply = self.server.post(PATH, body)
            self.assertEqual(reply.status, status, reply.body)
            self.assertEqual(reply.error["param"], field)
        refused(400, "input")
        refused(400, "input", input=[])
        refused(400, "input", input=5)
        refused(400, "input", input=[[1], 2])
        refused(400, "input", input=[99999])
        refused(400, "input", input=[[]])
        refused(400, "input", input=[1] * 257)
        refused(400, "encoding_format", input="a", encoding_format="int8")
        refused(400, "dimensions", input="a", dimensions=32)
        refused(400, "pooling", input="a", pooling="max")
        refused(400, "temperature", input="a", temperature=1)
        refused(404, "model", input="a", model="other")
        self.embed(input="a", dimensions=64, encoding_format="float", user="me", model="llama-untied")
        self.embed(input=[1] * 256)  # the whole context


if __name__ == "__main__":
    main()
