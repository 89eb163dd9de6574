# SPDX-License-Identifier: Apache-2.0
"""Answers that look as they were asked to: JSON Schema in every spelling, grammars, expressions, choices and calls of
tools, by models with random weights that try whatever a mask allows."""

import json
import re

from pawl_testing import main
from server_testing import CHAT_MODEL, GEMMA, ServerTest

CHAT = "/v1/chat/completions"
COMPLETE = "/v1/completions"
HELLO = [{"role": "user", "content": "hello"}]
OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
PLACE = {"type": "object", "required": ["why", "place", "days"], "additionalProperties": False,
         "properties": {"why": {"type": "string", "maxLength": 5}, "place": {"enum": ["Rome", "Oslo"]},
                        "days": {"type": "integer", "minimum": 1, "maximum": 9}}}
LONG = {"type": "object", "required": ["thoughts", "items"], "additionalProperties": False,
        "properties": {"thoughts": {"type": "string"}, "items": {"type": "array", "minItems": 2, "items": {
            "type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["small", "large"]},
                                                                   "n": {"type": "number"}}}}}}


def tool(name, parameters):
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


class Structured(ServerTest):

    def setUp(self):
        super().setUp()
        self.server = self.serve(model=CHAT_MODEL)

    def chat(self, **fields):
        reply = self.server.post(CHAT, {"messages": HELLO, "max_tokens": 200, "temperature": 2, **fields})
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()

    def text(self, **fields):
        choice = self.chat(**fields)["choices"][0]
        self.assertEqual(choice["finish_reason"], "stop", choice)
        return choice["message"]["content"]

    def refused(self, *words, **fields):
        reply = self.server.post(CHAT, {"messages": HELLO, "max_tokens": 8, **fields})
        self.assert_refused(reply, 400, *words)
        return reply.error

    def test_S085_a_schema_is_obeyed_in_each_spelling(self):
        spellings = [
            {"response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": OK}}},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": OK, "strict": True}}},
            {"response_format": {"type": "json_schema", "schema": OK}},
            {"response_format": {"type": "json_object", "schema": OK}},
            {"json_schema": OK}, {"guided_json": OK}, {"guided_json": json.dumps(OK)}]
        for spelling in spellings:
            for seed in range(5):
                answer = json.loads(self.text(seed=seed, **spelling))
                self.assertEqual(list(answer), ["ok"])
                self.assertIsInstance(answer["ok"], bool)
        self.refused("exclude each other", json_schema=OK, regex="a")

    def test_S114_an_object_ends_without_empty_lines(self):
        body = self.server.post(COMPLETE, {"prompt": "a", "max_tokens": 300, "temperature": 0.01,
                                           "response_format": {"type": "json_object"}}).json()
        text = body["choices"][0]["text"]
        self.assertEqual(text[0], "{")
        self.assertIsNone(re.search(r"[ \n\t\r]{21}", re.sub(r'"(\\.|[^"\\])*"', "", text)))

    def test_S121_members_come_in_the_order_of_the_schema(self):
        for seed in range(20):
            reply = self.chat(seed=seed, tools=[tool("trip", PLACE)], tool_choice="required")
            choice = reply["choices"][0]
            self.assertEqual(choice["finish_reason"], "tool_calls", choice)
            for call in choice["message"]["tool_calls"]:
                self.assertEqual(call["function"]["name"], "trip")
                pairs = json.loads(call["function"]["arguments"], object_pairs_hook=list)
                self.assertEqual([name for name, _ in pairs], ["why", "place", "days"])
                self.assertIn(dict(pairs)["place"], ("Rome", "Oslo"))

    def test_regex_choice_and_grammar(self):
        for seed in range(10):
            self.assertRegex(self.text(regex="[ab]{3}-\\d+x", seed=seed), r"\A[ab]{3}-[0-9]+x\Z")
            self.assertIn(self.text(choice=["yes", "no", "yes, sir"], seed=seed), ("yes", "no", "yes, sir"))
            self.assertIn(self.text(grammar='root ::= "yes" | "n" "o"', seed=seed), ("yes", "no"))
            self.assertIn(self.text(grammar='start: "yes" | "no"', seed=seed), ("yes", "no"))

    def test_S116_what_is_wrong_with_a_grammar_is_said(self):
        self.refused("no rule named root", grammar='start ::= "yes" | "no"')
        self.refused("no rule named", "line 1", grammar="root ::= other")
        self.refused("column", grammar='root ::= "a')
        self.refused("empty", grammar=" ")

    def test_S084_keyword_and_path_are_named_before_a_token_is_made(self):
        schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}
        error = self.refused("back reference", "column 5", "/properties/a", json_schema=schema)
        self.assertEqual(error["param"], "json_schema/properties/a")
        self.refused("unsatisfiable", "/properties/n", json_schema={
            "type": "object", "required": ["n"],
            "properties": {"n": {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5}}})

    def test_S118_a_call_that_is_cut_is_the_same_in_both_modes(self):
        for limit in (1, 5, 12, 25):
            fields = {"tools": [tool("trip", PLACE)], "tool_choice": "required", "max_tokens": limit, "seed": 3}
            whole = self.chat(**fields)["choices"][0]
            with_stream = self.server.stream(CHAT, {"messages": HELLO, "temperature": 2, "stream": True, **fields})
            arguments, reason = "", None
            for chunk in with_stream.objects():
                for choice in chunk["choices"]:
                    for piece in choice["delta"].get("tool_calls", []):
                        arguments += piece["function"]["arguments"]
                    reason = choice["finish_reason"] or reason
            self.assertEqual(reason, whole["finish_reason"])
            calls = whole["message"].get("tool_calls", [])
            self.assertEqual(arguments, "".join(c["function"]["arguments"] for c in calls))
            if reason == "length":
                self.assertIn("note", whole)

    def test_S119_the_tool_with_the_bad_pattern_is_named(self):
        tools = [tool(f"t{i}", {"type": "object"}) for i in range(20)]
        tools[11] = tool("searches", {"type": "object", "properties": {"q": {"type": "string", "pattern": "\\w"}}})
        self.chat(tools=tools, tool_choice="required", max_tokens=4)
        tools[14] = tool("looks_back", {"type": "object", "properties": {"q": {"pattern": "(a)\\1"}}})
        self.refused("looks_back", "/properties/q", "back reference", tools=tools, tool_choice="required")

    def test_S117_an_empty_list_of_calls_is_none(self):
        history = [*HELLO, {"role": "assistant", "content": "ok"}, *HELLO]
        counts = []
        for calls in ("absent", [], None):
            messages = [dict(m) for m in history]
            if calls != "absent":
                messages[1]["tool_calls"] = calls
            counts.append(self.server.post("/tokenize", {"messages": messages}).json()["tokens"])
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(counts[0], counts[2])

    def test_S110_what_is_forced_changes_no_byte(self):
        schema = {"type": "object", "required": ["identifier", "quantity"], "additionalProperties": False,
                  "properties": {"identifier": {"const": "fixed-value"}, "quantity": {"type": "integer"}}}
        fields = {"json_schema": schema, "temperature": 0, "seed": 1}
        fast = self.chat(**fields)
        slow = self.chat(logprobs=True, **fields)  # each token from its row
        self.assertEqual(fast["choices"][0]["message"], slow["choices"][0]["message"])
        self.assertGreater(fast["usage"]["completion_tokens_details"]["forced_tokens"], 5)
        self.assertNotIn("completion_tokens_details", slow["usage"])
        self.assertLess(fast["timings"]["forward_passes"], slow["timings"]["forward_passes"])

    def shortest(self, **fields):
        """Tokens of the shortest answer, as the refusal of too small a budget tells it."""
        error = self.refused("json_budget", "tokens", json_budget="close", **{**fields, "max_tokens": 1})
        self.assertEqual(error["param"], "json_budget")
        return int(re.search(r"has (\d+) tokens", error["message"]).group(1))

    def test_a_budget_is_kept_and_the_answer_is_whole(self):
        for schema in (PLACE, LONG, {"type": "object"}):
            shortest = self.shortest(json_schema=schema)
            for budget in [*range(shortest, shortest + 6), shortest + 11, shortest + 30]:
                for seed in range(4):
                    reply = self.chat(json_schema=schema, json_budget="close", max_tokens=budget, seed=seed)
                    choice = reply["choices"][0]
                    self.assertEqual(choice["finish_reason"], "stop", choice)
                    self.assertLessEqual(reply["usage"]["completion_tokens"], budget)
                    answer = json.loads(choice["message"]["content"])
                    self.assertEqual([n for n in schema.get("required", []) if n not in answer], [])
                    if schema is LONG:
                        self.assertGreaterEqual(len(answer["items"]), 2)

    def test_without_a_budget_what_is_cut_is_said(self):
        shortest = self.shortest(json_schema=LONG)
        cut = self.chat(json_schema=LONG, max_tokens=shortest, seed=1)["choices"][0]
        self.assertEqual(cut["finish_reason"], "length")
        self.assertIn("ends before", cut["note"])
        with self.assertRaises(json.JSONDecodeError):
            json.loads(cut["message"]["content"])

    def test_a_budget_with_logprobs_streams_and_several_choices(self):
        budget = self.shortest(json_schema=LONG) + 3
        fields = {"json_schema": LONG, "json_budget": "close", "max_tokens": budget, "n": 3, "seed": 5}
        for choice in self.chat(logprobs=True, **fields)["choices"]:
            self.assertEqual(choice["finish_reason"], "stop")
            json.loads(choice["message"]["content"])
        texts = ["", "", ""]
        stream = self.server.stream(CHAT, {"messages": HELLO, "temperature": 2, "stream": True, **fields})
        for chunk in stream.objects():
            for choice in chunk["choices"]:
                texts[choice["index"]] += choice["delta"].get("content") or ""
        for text in texts:
            self.assertGreaterEqual(len(json.loads(text)["items"]), 2)

    def test_a_budget_that_cannot_be_kept_is_refused(self):
        self.refused("json_budget", "closes JSON", json_budget="close")
        self.refused("json_budget", "closes JSON", json_budget="close", regex="a+")
        self.refused("json_budget", "closes JSON", json_budget="close", tools=[tool("trip", PLACE)],
                     tool_choice="required")
        self.refused("json_budget", "close", json_budget="open", json_schema=OK)
        for name, value in (("stop", "a"), ("ignore_eos", True), ("min_tokens", 2), ("banned_token_ids", [5]),
                            ("allowed_token_ids", [5])):
            self.refused("json_budget", name, "exclude", json_budget="close", json_schema=OK, **{name: value})
        body = {"prompt": "a", "max_tokens": 0, "json_schema": OK, "json_budget": "close"}
        self.assert_refused(self.server.post(COMPLETE, body), 400, "json_budget", "0 are allowed")

    def test_n_choices_go_their_own_ways(self):
        reply = self.chat(json_schema=OK, n=4)
        for choice in reply["choices"]:
            self.assertIn(json.loads(choice["message"]["content"]), ({"ok": True}, {"ok": False}))


class Run(ServerTest):

    def test_a_schema_on_the_command_line(self):
        schema = self.home / "ok.json"
        schema.write_text(json.dumps(OK))
        for seed in range(5):
            done = self.pawl("run", "-m", GEMMA, "-p", "a", "--schema", schema, "--temperature", "2", "--seed", seed)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(json.loads(done.stdout), ({"ok": True}, {"ok": False}))
        done = self.pawl("run", "-m", GEMMA, "-p", "a", "--schema", schema, "--max-tokens", "3", "--json-budget", "close")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("3 are allowed", done.stderr)
        shortest = int(re.search(r"has (\d+) tokens", done.stderr).group(1))
        for budget in range(shortest, shortest + 4):
            done = self.pawl("run", "-m", GEMMA, "-p", "a", "--schema", schema, "--temperature", "2", "--max-tokens",
                             budget, "--json-budget", "close")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(json.loads(done.stdout), ({"ok": True}, {"ok": False}))
        done = self.pawl("run", "-m", GEMMA, "-p", "a", "--schema", schema, "--json-budget", "close", "--stop", "a")
        self.assertEqual(done.returncode, 2, done.stderr)
        schema.write_text('{"$ref":"#"}')
        done = self.pawl("run", "-m", GEMMA, "-p", "a", "--schema", schema)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("refers to itself", done.stderr)


if __name__ == "__main__":
    main()
