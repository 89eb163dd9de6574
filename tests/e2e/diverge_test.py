# SPDX-License-Identifier: Apache-2.0
"""pawl diverge: its document adds up, goes on where it was stopped, and says the same in any batch."""

import json
import pathlib
import unittest

from pawl_testing import DEFAULT_MODEL, PawlTest, main, needs_default_model

PROMPTS = pathlib.Path(__file__).resolve().parents[2] / "data" / "prompts.txt"


class BuiltIn(unittest.TestCase):
    def test_there_are_two_hundred_prompts_all_different(self):
        lines = PROMPTS.read_text().splitlines()
        self.assertEqual(len(lines), 200)
        self.assertEqual(len(set(lines)), 200)
        self.assertTrue(all(line.strip() == line and line for line in lines))


@needs_default_model
class Diverge(PawlTest):
    def diverge(self, *words):
        result = self.pawl("diverge", "-m", DEFAULT_MODEL, *words)
        self.assert_done(result)
        return result

    def test_the_document_adds_up(self):
        out = self.home / "d.jsonl"
        document = json.loads(self.diverge("--n", "5", "--json", "--out", out).stdout)
        self.assertEqual(document["compared"] + len(document["skipped"]), 5)
        self.assertEqual([point["within"] for point in document["curve"]], list(range(1, 33)))
        lines = [json.loads(line) for line in out.read_text().splitlines()][1:]
        firsts = []
        for line in lines:
            at = line["changed_at"]
            if line["skipped"]:
                continue
            self.assertEqual(line["answer"][:at], line["changed"][:at])
            self.assertNotEqual(line["answer"][at], line["changed"][at])
            a, b = line["answer"][at + 1:], line["changed"][at + 1:]
            length = max(len(a), len(b))
            a, b = (x + [None] * (length - len(x)) for x in (a, b))
            firsts.append(next((i for i in range(length) if a[i] != b[i]), length))
        self.assertEqual(len(firsts), document["compared"])
        for point in document["curve"]:
            self.assertEqual(point["first"]["count"], sum(first < point["within"] for first in firsts))
            self.assertEqual(point["first"]["of"], len(firsts))
            for share in (point["first"], point["lasting"]):
                self.assertLessEqual(share["low"], share["share"])
                self.assertLessEqual(share["share"], share["high"])
            self.assertLessEqual(point["lasting"]["count"], point["first"]["count"])
        self.assertEqual(document["diverged"], document["curve"][11]["first"])
        claim = document["claim"]
        self.assertEqual((claim["within"], claim["share"]), (12, 0.92))
        first = document["curve"][11]["first"]
        self.assertEqual(claim["first"], "agrees" if first["low"] <= 0.92 <= first["high"] else "differs here")

        # A run that lost its last line half way goes on there and ends with the same file.
        whole = out.read_text()
        out.write_text(whole[:len(whole) * 2 // 3])
        again = json.loads(self.diverge("--n", "5", "--json", "--out", out).stdout)
        self.assertEqual(again, document)
        self.assertEqual(sorted(out.read_text().splitlines()), sorted(whole.splitlines()))
        self.assert_error(self.pawl("diverge", "-m", DEFAULT_MODEL, "--n", "5", "--out", out, "--seed", "2"), 2,
                          "seed", "d.jsonl")

    def test_an_answer_is_the_greedy_one(self):
        prompts = self.home / "prompts.txt"
        prompts.write_text("The sea is\n\nOnce upon a time\n")
        out = self.home / "d.jsonl"
        self.diverge("--prompts", prompts, "--out", out)
        lines = [json.loads(line) for line in out.read_text().splitlines()][1:]
        for line, text in zip(lines, ("The sea is", "Once upon a time"), strict=True):
            run = self.pawl("run", "-m", DEFAULT_MODEL, "-p", text, "-n", "48", "--greedy", "--json")
            document = json.loads(run.stdout)
            self.assertEqual(line["answer"], document["output_ids"])
            prefix = document["prompt_ids"] + line["changed"][:line["changed_at"] + 1]
            rest = self.pawl("run", "-m", DEFAULT_MODEL, "--ids", ",".join(map(str, prefix)), "-n",
                             str(48 - line["changed_at"] - 1), "--greedy", "--json")
            self.assertEqual(line["changed"][line["changed_at"] + 1:], json.loads(rest.stdout)["output_ids"])

    def test_wrong_use_names_the_offender(self):
        empty = self.home / "empty.txt"
        empty.write_text("\n")
        other = self.home / "other.jsonl"
        other.write_text("{}\n")
        for words, offender in [(["--n", "0"], "--n"), (["--within", "33"], "--within"),
                                (["--prompts", empty], "empty.txt"), (["--n", "1", "--out", other], "other.jsonl")]:
            with self.subTest(words):
                self.assert_error(self.pawl("diverge", "-m", DEFAULT_MODEL, *words), 2, offender)


if __name__ == "__main__":
    main()
