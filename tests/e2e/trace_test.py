# SPDX-License-Identifier: Apache-2.0
"""pawl trace and pawl trace verify: the contract's keys, exit statuses, and tampering as a user would meet it."""

import hashlib
import json
import pathlib
import re
import shutil
import signal
import struct

from pawl_testing import PawlTest, main

TINY = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tiny" / "gemma3.gguf"
OTHER = TINY.with_name("qwen3.gguf")
IDS = "2,43,80,117,154,191"


class Trace(PawlTest):
    def trace(self, *words):
        path = self.home / "t.jsonl"
        self.assert_done(self.pawl("trace", "-m", TINY, "--ids", IDS, "-n", "12", "--seed", "7", "--ignore-eos",
                                   "--out", path, *words))
        return path

    def verify(self, path, *words):
        return self.pawl("trace", "verify", path, *words)

    def assert_fails(self, path, step, *words):
        """Exit 1, and the one line that fails names the step."""
        result = self.verify(path)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        failed = [line for line in result.stdout.splitlines() if line.startswith("fails ")]
        self.assertEqual(len(failed), 1, result.stdout)
        for word in (f"step {step}:", *words):
            self.assertIn(word, failed[0])

    def test_a_trace_is_written_and_holds(self):
        path = self.trace()
        result = self.verify(path)
        self.assert_done(result)
        names = [line.split()[1] for line in result.stdout.splitlines() if line.startswith("holds ")]
        self.assertEqual(names, ["chain", "passes", "model", "recomputed", "alone", "changed"])

    def test_its_lines_are_those_of_the_contract(self):
        lines = [json.loads(line) for line in self.trace().read_text().splitlines()]
        header, *steps, end = lines
        self.assertEqual(header["model_sha256"], hashlib.sha256(TINY.read_bytes()).hexdigest())
        self.assertEqual((header["seed"], header["policy"]), (7, {"ignore_eos": True}))
        prefix = list(header["prompt_ids"])
        self.assertEqual(prefix, [int(x) for x in IDS.split(",")])
        for number, step in enumerate(steps):
            for key in ("step", "kind", "prefix_len", "prefix_sha256", "inputs", "selected", "top", "gap",
                        "logits_digest", "forward_us", "policy_us"):
                self.assertIn(key, step)
            self.assertEqual(step["step"], number)
            self.assertEqual(step["kind"], "decode" if number else "prefill")
            self.assertEqual(step["prefix_len"], len(prefix))
            self.assertEqual(step["prefix_sha256"],
                             hashlib.sha256(struct.pack(f"<{len(prefix)}I", *prefix)).hexdigest())
            self.assertEqual(step["inputs"], prefix[-1:] if number else prefix)
            self.assertEqual(len(step["top"]), 5)
            self.assertAlmostEqual(step["gap"], step["top"][0]["logit"] - step["top"][1]["logit"], places=5)
            self.assertRegex(step["logits_digest"], r"^xxh3-128:[0-9a-f]{32}$")
            prefix.append(step["selected"]["id"])
        self.assertEqual((end["kind"], end["passes"], end["selected"]), ("end", 12, 12))

    def test_standard_output_holds_the_same_lines(self):
        path = self.trace()
        result = self.pawl("trace", "-m", TINY, "--ids", IDS, "-n", "12", "--seed", "7", "--ignore-eos")
        self.assert_done(result)

        def untimed(text):
            return [{k: v for k, v in json.loads(line).items() if not k.endswith("_us")} for line in text.splitlines()]
        self.assertEqual(untimed(result.stdout), untimed(path.read_text()))

    def test_a_long_prompt_takes_several_passes(self):
        ids = ",".join(str(6 + i * 37 % 500) for i in range(200))
        path = self.home / "long.jsonl"
        self.assert_done(self.pawl("trace", "-m", TINY, "--ids", ids, "-n", "3", "--greedy", "--out", path))
        self.assert_done(self.verify(path))

    def test_reference_precision_is_replayed(self):
        self.assert_done(self.verify(self.trace("--reference")))

    def test_the_verdicts_as_json(self):
        path = self.trace()
        document = json.loads(self.verify(path, "--json").stdout)
        self.assertTrue(document["holds"])
        self.assertEqual(document["steps"], 12)
        lines = path.read_text().splitlines()
        lines[4], lines[5] = lines[5], lines[4]
        path.write_text("\n".join(lines) + "\n")
        result = self.verify(path, "--json")
        self.assertEqual(result.returncode, 1)
        document = json.loads(result.stdout)
        self.assertFalse(document["holds"])
        self.assertEqual(document["verdicts"][-1]["step"], 3)

    def test_quick_opens_no_model(self):
        path = self.trace()
        text = path.read_text().replace(str(TINY), "/no/such.gguf")
        path.write_text(text)
        self.assert_done(self.verify(path, "--quick"))
        self.assert_error(self.verify(path), 3, "/no/such.gguf")
        self.assert_done(self.verify(path, "-m", TINY))

    def test_another_model_is_named_with_both_hashes(self):
        result = self.verify(self.trace(), "-m", OTHER)
        self.assertEqual(result.returncode, 1)
        for file in (TINY, OTHER):
            self.assertIn(hashlib.sha256(file.read_bytes()).hexdigest(), result.stdout)

    def test_a_model_file_that_changed_is_found(self):
        model = self.home / "model.gguf"
        shutil.copy(TINY, model)
        path = self.home / "t.jsonl"
        self.assert_done(self.pawl("trace", "-m", model, "--ids", IDS, "-n", "4", "--out", path))
        self.assert_done(self.verify(path))
        data = bytearray(model.read_bytes())
        data[-100] ^= 1
        model.write_bytes(data)
        result = self.verify(path)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^fails +model")

    def test_tampering_names_the_step(self):
        def edit(number, **changes):
            def apply(lines):
                line = json.loads(lines[number])
                line.update(changes)
                lines[number] = json.dumps(line)
            return apply

        def swap(lines):
            lines[6], lines[7] = lines[7], lines[6]

        def digest_of_another(lines):
            edit(5, logits_digest=json.loads(lines[9])["logits_digest"])(lines)

        def prompt(lines):
            ids = json.loads(lines[0])["prompt_ids"]
            edit(0, prompt_ids=[ids[0] + 1, *ids[1:]])(lines)

        for name, tamper, step, words in [
                ("swapped lines", swap, 5, ["step 6"]),
                ("a dropped step", lambda lines: lines.pop(4), 3, ["step 4"]),
                ("a changed id", edit(3, selected={"id": 5, "text": "x"}), 2, ["selected 5"]),
                ("a changed digest", digest_of_another, 4, ["logits_digest"]),
                ("a changed prefix hash", edit(8, prefix_sha256="0" * 64), 7, ["prefix_sha256"]),
                ("a truncated file", lambda lines: lines.__delitem__(slice(10, None)), 9, ["closing line"]),
                ("an added line", lambda lines: lines.append(lines[3]), 12, ["after the closing line"]),
                ("a changed prompt id", prompt, 0, ["position 0"]),
                ("a changed policy", edit(0, policy={"temperature": 0, "ignore_eos": True}), None, ["seed and policy"]),
                ("a changed seed", edit(0, seed=12345), None, ["seed and policy"])]:
            with self.subTest(name):
                path = self.trace()
                lines = path.read_text().splitlines()
                selected = [json.loads(line)["selected"]["id"] for line in lines[1:-1]]
                self.assertNotEqual(selected[2], 5)
                if name == "a changed policy":
                    top = [json.loads(line)["top"][0]["id"] for line in lines[1:-1]]
                    step = next(i for i in range(12) if top[i] != selected[i])
                if name == "a changed seed":
                    other = self.pawl("trace", "-m", TINY, "--ids", IDS, "-n", "12", "--seed", "12345", "--ignore-eos")
                    drawn = [json.loads(line)["selected"]["id"] for line in other.stdout.splitlines()[1:-1]]
                    step = next(i for i in range(12) if drawn[i] != selected[i])
                tamper(lines)
                path.write_text("\n".join(lines) + "\n")
                self.assert_fails(path, step, *words)

    def test_what_is_no_trace_is_status_2(self):
        path = self.trace()
        lines = path.read_text().splitlines()
        for name, text in [("empty", ""), ("text", "hello\n"), ("headless", "\n".join(lines[1:]) + "\n"),
                           ("other.json", "{}"), ("model", None)]:
            with self.subTest(name):
                file = TINY if text is None else self.home / name
                if text is not None:
                    file.write_text(text)
                self.assert_error(self.verify(file), 2, file.name)
        self.assert_error(self.verify(self.home / "missing.jsonl"), 3, "missing.jsonl")

    def test_wrong_use_names_the_flag(self):
        for words, offender in [(["trace"], "--prompt"), (["trace", "-p", "x", "--json"], "--out"),
                                (["trace", "-p", "x", "--top", "0"], "--top"), (["trace", "verify"], "FILE")]:
            with self.subTest(words):
                self.assert_error(self.pawl(*words), 2, offender)

    def test_an_interrupted_trace_is_whole(self):
        path = self.home / "t.jsonl"
        process = self.start("trace", "-m", TINY, "--ids", IDS, "-n", "100000000", "--ignore-eos")
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        text = "".join(lines) + process.stdout.read()  # communicate() would pass over what is buffered
        err = process.stderr.read()
        process.wait(60)
        process.stdout.close()
        process.stderr.close()
        # The small model's context may end before the signal comes.
        reason = json.loads(text.splitlines()[-1])["finish_reason"]
        self.assertEqual(process.returncode, {"cancelled": 130, "length": 0}[reason], err)
        path.write_text(text)
        self.assert_done(self.verify(path))

    def test_a_page_holds_the_texts_as_data(self):
        path = self.trace()
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        evil = '</script><script>document.title="x"</script><!--'
        lines[0]["model"] = lines[1]["selected"]["text"] = lines[1]["top"][0]["text"] = evil
        lines[0]["prompt_texts"] = [evil] * len(lines[0]["prompt_ids"])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        page = self.home / "t.html"
        self.assert_done(self.pawl("trace", "report", path, "--out", page))
        text = page.read_text()
        self.assertNotIn(evil, text)
        self.assertEqual((text.count("<script"), text.count("</script>")), (2, 2))
        self.assertNotRegex(text, r"(src|href)=|https?://(?!www\.w3\.org/2000/svg)|@import|url\(")
        data = json.loads(re.search(r'<script type="application/json" id="trace">(.*?)</script>', text, re.S).group(1))
        self.assertEqual((data["model"], data["steps"][0]["selected"]["text"]), (evil, evil))
        self.assertEqual([token["text"] for token in data["prompt"]], [evil] * 6)
        self.assertEqual([step["prefix_len"] for step in data["steps"]], list(range(6, 18)))
        self.assertEqual(data["finish_reason"], "length")

    def test_a_page_can_come_with_the_trace_or_after_it(self):
        path, with_trace, after = self.home / "t.jsonl", self.home / "a.html", self.home / "b.html"
        words = ("trace", "-m", TINY, "--ids", IDS, "-n", "4", "--seed", "7")
        result = self.pawl(*words, "--out", path, "--report", with_trace, "--json")
        self.assert_done(result)
        self.assertEqual(json.loads(result.stdout)["report"], str(with_trace))
        self.assert_done(self.pawl("trace", "report", path, "--out", after))
        self.assertEqual(with_trace.read_text(), after.read_text())
        result = self.pawl(*words, "--report", with_trace)
        self.assert_done(result)
        self.assertEqual(result.stdout, "")

    def test_a_page_of_a_broken_trace_says_where_it_ends(self):
        path, page = self.trace(), self.home / "t.html"
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:4], "{", *lines[5:]]) + "\n")
        self.assert_done(self.pawl("trace", "report", path, "--out", page))
        self.assertIn("line 5", page.read_text())
        path.write_text("{}\n")
        self.assert_error(self.pawl("trace", "report", path, "--out", page), 2, "t.jsonl")

    def test_a_folder_that_is_not_there_is_named(self):
        self.assert_error(self.pawl("trace", "-m", TINY, "--ids", IDS, "--out", "/no/such/t.jsonl"), 3, "/no/such")


if __name__ == "__main__":
    main()
