# SPDX-License-Identifier: Apache-2.0
"""pawl schema against a server that writes answers of known cost, and against pawl serve with a tiny model."""

import json
import time

import pawl_testing
from listening import ChatServer
from server_testing import CHAT_MODEL

REVIEW = {"type": "object", "additionalProperties": False, "required": ["reasoning", "score"],
          "properties": {"reasoning": {"type": "string", "maxLength": 200},
                         "score": {"type": "integer", "minimum": 1, "maximum": 5}}}


class FormServer(ChatServer):
    """Fills a schema's properties in their order: 12 words of reasoning, a score. Names come in no time (forced), each
    word and the score in one step. The score depends on the prompt, and in every tenth prompt on the reasoning."""

    STEP_S, START_S = 0.006, 0.02

    def __init__(self, tells_tokens=True, is_random=False):
        self.tells_tokens, self.is_random = tells_tokens, is_random
        self.bodies = []
        super().__init__()

    def tokens(self, body):
        """(text, forced): a field's name, its value, and the quote and comma behind it."""
        if "response_format" not in body:  # a first question, to learn how long prompts become
            yield "word", False
            return
        names = list(body["response_format"]["json_schema"]["schema"]["properties"])
        number = int(body["messages"][0]["content"].split()[1].strip(":"))
        score = 2 + number % 3
        if number % 10 == 0 and "reasoning" in names and names[0] == "reasoning":
            score += 1
        if self.is_random:
            score = 1 + len(self.bodies) % 2
        yield "{", True
        for i, name in enumerate(names):
            yield ("," if i else "") + f'"{name}":', True
            if name == "reasoning":
                yield '"', True
                yield from ((f"word{k} ", False) for k in range(12))
                yield '"', True
            else:
                yield str(score), False
        yield "}", True

    def stream(self, connection, body):
        if "response_format" in body:
            self.bodies.append(body)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        time.sleep(self.START_S)
        tokens = list(self.tokens(body))[:body["max_tokens"]]
        for text, is_forced in tokens:
            if not is_forced:
                time.sleep(self.STEP_S)
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            if self.tells_tokens:
                choice |= {"token_ids": [1], "token_forced": [is_forced]}
            self.send(connection, {"choices": [choice]})
        reason = "stop" if len(tokens) < body["max_tokens"] else "length"
        self.send(connection, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.send(connection, {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": len(tokens) + 1}})
        connection.sendall(b"data: [DONE]\n\n")

    @staticmethod
    def send(connection, part):
        connection.sendall(b"data: " + json.dumps(part).encode() + b"\n\n")


class SchemaTest(pawl_testing.PawlTest):
    def setUp(self):
        super().setUp()
        (self.home / "schema.json").write_text(json.dumps(REVIEW))
        (self.home / "prompts.txt").write_text("".join(f"review {i}\n" for i in range(20)))

    def schema(self, *words, **environment):
        return self.pawl(*words, folder=self.home, **environment)

    def study(self, server, *more, status=0):
        done = self.schema("schema", "--schema", "schema.json", "--prompts", "prompts.txt", "--url", server.url, "-m", "m",
                           "--json", *more)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return json.loads(done.stdout)

    @staticmethod
    def variant(result, kind):
        return next(v for v in result["variants"] if v["kind"] == kind)

    def test_s175_what_is_saved_and_what_changes_with_n_self_agreement_and_interval(self):
        server = FormServer()
        result = self.study(server, "--report", "r.html", "-o", "r.json")
        rows = {row["path"]: row for row in result["bill"]["rows"]}
        # The name and both quotes are forced, twelve words and one digit are chosen.
        self.assertEqual((rows["reasoning"]["tokens"], rows["reasoning"]["forced"], rows["reasoning"]["chosen"]), (15, 3, 12))
        self.assertEqual((rows["score"]["tokens"], rows["score"]["chosen"]), (2, 1))
        self.assertAlmostEqual(result["bill"]["tokens"], 19)
        trimmed, stripped = self.variant(result, "not asked"), self.variant(result, "stripped")
        print("    billed", trimmed["billed_share"], "saved", trimmed["saved_share"], "stripped", stripped["saved_share"])
        self.assertGreater(trimmed["saved_share"]["value"], 0.5)
        self.assertGreater(stripped["saved_bytes_share"], 0.7)
        self.assertLess(abs(stripped["saved_share"]["value"]), 0.2)
        # Prompts 0 and 10 of 20 score otherwise without their reasoning: exact limits of 2 of 20.
        score = next(a for a in trimmed["agreement"] if a["field"] == "score")
        self.assertEqual((score["n"], score["same"]), (20, 18))
        self.assertAlmostEqual(score["changed"]["share"], 0.1)
        self.assertAlmostEqual(score["changed"]["low"], 0.0123, delta=1e-4)
        self.assertAlmostEqual(score["changed"]["high"], 0.3170, delta=1e-4)
        self.assertEqual({(a["field"], a["n"], a["same"]) for a in result["self_agreement"]},
                         {("reasoning", 20, 20), ("score", 20, 20)})
        verdicts = {v["name"]: v["outcome"] for v in result["verdicts"]}
        self.assertEqual((verdicts["complete"], verdicts["order"]), ("holds", "holds"))
        # The same in words; agreement is never called safe.
        done = self.schema("report", "r.json", "-o", "again.html")
        self.assert_done(done)
        for name in ("r.html", "again.html"):
            page = (self.home / name).read_text()
            self.assertNotRegex(page, r"<script[^>]+src|<link|@import")
            self.assertRegex(page, '"kind": ?"schema"')
        text = self.schema("schema", "--schema", "schema.json", "--prompts", "prompts.txt", "--url", server.url, "-m", "m").stdout
        self.assertRegex(text, r"score +without reasoning +20 +18 +10 % \(1 to 32\) +20 of 20")
        for said in (text, json.dumps(result), self.schema("schema", "--help").stdout):
            self.assertNotIn("safe", said.lower())

    def test_each_request_is_asked_as_its_variant_says(self):
        server = FormServer()
        (self.home / "prompts.txt").write_text("review 1: {fields}\n")
        self.study(server, "-r", "2")
        asked = [(tuple(b["response_format"]["json_schema"]["schema"]["properties"]), b["messages"][0]["content"], b["temperature"])
                 for b in server.bodies if b["max_tokens"] > 1]
        both = "review 1: reasoning; score"
        expected = [(("reasoning", "score"), both, 0)] * 2 + [(("score",), both, 0), (("reasoning",), both, 0),
                    (("score",), "review 1: score", 0), (("score", "reasoning"), both, 0)]
        self.assertEqual(sorted(asked), sorted(expected * 2))

    def test_answers_that_differ_by_themselves_are_seen_beside_the_changes(self):
        result = self.study(FormServer(is_random=True), "-n", "12", status=1)
        own = next(a for a in result["self_agreement"] if a["field"] == "score")
        self.assertLess(own["same"], own["n"])
        # An order that changes at random is no order: that verdict fails, and the exit status tells.
        self.assertEqual(next(v["outcome"] for v in result["verdicts"] if v["name"] == "order"), "fails")

    def test_a_server_that_tells_no_tokens_is_billed_by_its_chunks(self):
        result = self.study(FormServer(tells_tokens=False), "-n", "3", "--variant", "stripped")
        self.assertIsNone(result["bill"]["rows"][0]["forced"])
        self.assertEqual([v["kind"] for v in result["variants"]], ["full", "stripped"])
        self.assertEqual(result["verdicts"][0]["outcome"], "holds")

    def test_s176_answers_that_end_early_are_counted_and_are_in_no_mean(self):
        # Eighteen tokens are an answer, without reasoning five: at eight the full ones end early.
        done = self.schema("schema", "--schema", "schema.json", "--prompts", "prompts.txt", "--url", FormServer().url, "-m", "m",
                           "-n", "2", "--max-tokens", "8")
        self.assert_error(done, 3, "no whole answer", "2 ended before their JSON did")

    def test_a_run_goes_on_from_its_records(self):
        server = FormServer()
        self.study(server, "-n", "3", "--records", "r.jsonl")
        sent = len(server.bodies)
        again = self.study(server, "-n", "3", "--records", "r.jsonl")
        self.assertEqual(len(server.bodies), sent)
        self.assertEqual(again["bill"]["answers"], 3)

    def test_bill_alone_asks_the_full_schema_alone(self):
        server = FormServer()
        done = self.schema("schema", "bill", "--schema", "schema.json", "--prompts", "prompts.txt", "-n", "2", "--url",
                           server.url, "-m", "m")
        self.assert_done(done)
        self.assertEqual(len(server.bodies), 3)  # one warm-up
        self.assertRegex(done.stdout, r"reasoning +15\.0 +3\.0 +12\.0")

    def test_lint_finds_proposes_and_exits_with_one(self):
        bad = {"type": "object", "properties": {"overall_score": {"type": "integer", "minimum": 1, "maximum": 5},
                                                "reasoning": {"type": "string"}}, "required": ["overall_score", "reasoning"]}
        (self.home / "bad.json").write_text(json.dumps(bad))
        done = self.schema("schema", "lint", "--schema", "bad.json", "--json", "--proposed", "better.json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([f["rule"] for f in found["findings"]],
                         ["verdict before reasoning", "unbounded string", "open object", "name longer than value"])
        better = json.loads((self.home / "better.json").read_text())
        self.assertEqual(list(better["properties"]), ["reasoning", "score"])
        self.assertEqual(better, found["proposed_schema"])
        self.assert_done(self.schema("schema", "lint", "--schema", "better.json"))
        (self.home / "answers.jsonl").write_text('{"overall_score":3,"reasoning":"%s"}\n' % ("x" * 40))
        done = self.schema("schema", "lint", "--schema", "bad.json", "--answers", "answers.jsonl")
        self.assertIn('"maxLength": 80 (at most 40 characters', done.stdout)
        self.assertIn("the cost of both with the quality of neither", " ".join(done.stdout.split()))

    def test_wrong_input_is_told_in_one_line(self):
        ask = ["schema", "--url", "http://127.0.0.1:9"]
        self.assert_error(self.schema(*ask, "--prompts", "prompts.txt"), 2, "--schema")
        self.assert_error(self.schema(*ask, "--schema", "schema.json"), 2, "--prompts")
        both = [*ask, "--schema", "schema.json", "--prompts", "prompts.txt"]
        self.assert_error(self.schema(*both), 3, "127.0.0.1:9")
        self.assert_error(self.schema(*both, "--drop", "nope"), 2, "nope")
        self.assert_error(self.schema(*both, "--variant", "nope"), 2, "nope")
        (self.home / "text.json").write_text('{"type":"string"}')
        self.assert_error(self.schema(*ask, "--schema", "text.json", "--prompts", "prompts.txt"), 2, "object")
        (self.home / "broken.txt").write_text("one\n{\"prompt\":3}\n")
        self.assert_error(self.schema(*ask, "--schema", "schema.json", "--prompts", "broken.txt"), 2, "broken.txt, line 2")
        self.assert_error(self.schema("schema", "lint", "--schema", "absent.json"), 3, "absent.json")

    def test_pawls_own_server_tells_which_tokens_were_forced(self):
        done = self.schema("schema", "--self", "-m", CHAT_MODEL, "--schema", "schema.json", "--prompts", "prompts.txt", "-n",
                           "3", "--json", "--max-tokens", "400")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        result = json.loads(done.stdout)
        verdicts = {v["name"]: v for v in result["verdicts"]}
        self.assertEqual(verdicts["complete"]["outcome"], "holds", verdicts["complete"])
        self.assertEqual(verdicts["order"]["outcome"], "holds", verdicts["order"])
        for row in result["bill"]["rows"]:
            self.assertGreater(row["forced"], 0, row)
            self.assertGreater(row["chosen"], 0, row)
        self.assertTrue(all(a["same"] == a["n"] for a in result["self_agreement"]))
        # What a server cannot promise is refused before anything is measured.
        (self.home / "no.json").write_text(json.dumps({"type": "object", "required": ["a"], "additionalProperties": False,
                                                       "properties": {"a": {"pattern": "(a)\\1"}, "b": {"type": "integer"}}}))
        done = self.schema("schema", "--self", "-m", CHAT_MODEL, "--schema", "no.json", "--prompts", "prompts.txt")
        self.assert_error(done, 2, "/properties/a")


if __name__ == "__main__":
    pawl_testing.main()
