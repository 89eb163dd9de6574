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


# The template opens the thinking, or leaves it to the model; the switch closes it at once.
TURNS = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n")
OPENS = TURNS + ("{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
                 "{% else %}<think>\n{% endif %}{% endif %}")
LEAVES = TURNS + ("{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
                  "{% endif %}{% endif %}")
DEEPSEEK = TURNS + "{% endif %}{# calls: <｜tool▁calls▁begin｜> #}"


class Templates(ServerTest):

    def serve_with(self, source):
        path = self.home / "template.jinja"
        path.write_text(source, encoding="utf-8")
        return self.serve("--chat-template", path, model=CHAT_MODEL)

    def ids(self, server, text):
        return server.post("/tokenize", {"prompt": text, "add_special_tokens": False}).json()["tokens"]

    def thinks_an_a(self, server):
        """Fields with which any model thinks "a" and ends that: of tokens in a row each is favoured less than the one
        before it, and none while it is among the last ones."""
        row = [*self.ids(server, "a"), *self.ids(server, "</think>")]
        self.assertEqual(len(set(row)), len(row))
        others = {i for c in range(32, 127) for i in self.ids(server, chr(c))} - set(row)
        bias = {**{str(i): 100 - 25 * place for place, i in enumerate(row)}, **{str(i): -100 for i in others}}
        return {"logit_bias": bias, "allowed_token_ids": [*row, *others], "presence_penalty": 100,
                "frequency_penalty": 100, "repeat_last_n": len(row) - 1}

    def test_S115_the_schema_holds_behind_the_thinking(self):
        schema = {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "maxItems": 4, "uniqueItems": True}
        for source, switch, thinks in ((OPENS, True, True), (OPENS, False, False), (LEAVES, True, False),
                                       (LEAVES, False, False)):
            server = self.serve_with(source)
            steered = self.thinks_an_a(server) if thinks else {}
            for seed in range(8):
                body = {"messages": HELLO, "max_tokens": 300, "temperature": 2, "seed": seed, "json_schema": schema,
                        **steered, "chat_template_kwargs": {"enable_thinking": switch}}
                reply = server.post(CHAT, body)
                self.assertEqual(reply.status, 200, reply.body)
                choice = reply.json()["choices"][0]
                message = choice["message"]
                self.assertEqual(message.get("reasoning_content"), "a" if thinks else None)
                self.assertEqual(choice["finish_reason"], "stop", choice)
                whole = dict.fromkeys(("content", "reasoning_content"), "")
                for chunk in server.stream(CHAT, {**body, "stream": True}).objects():
                    for part in chunk["choices"]:
                        for name in whole:
                            whole[name] += part["delta"].get(name) or ""
                self.assertEqual(whole["content"], message["content"])
                self.assertEqual(whole["reasoning_content"], message.get("reasoning_content", ""))
                items = json.loads(message["content"])
                self.assertTrue(2 <= len(items) <= 4 and len(set(items)) == len(items), items)
            if thinks:
                del body["logit_bias"]
                choice = server.post(CHAT, {**body, "max_tokens": 5}).json()["choices"][0]
                self.assertEqual((choice["message"]["content"], choice["finish_reason"]), ("", "length"))
                self.assertIn("ends before", choice["note"])
            server.stop()

    def test_S115_what_thinking_excludes_is_refused_by_name(self):
        server = self.serve_with(OPENS)
        ask = {"messages": HELLO, "max_tokens": 50, "json_schema": OK}
        self.assert_refused(server.post(CHAT, {**ask, "json_budget": "close"}), 400, "json_budget", "thinking")
        self.assert_refused(server.post(CHAT, {"messages": HELLO, "grammar": 'start: "a"'}), 400, "grammar", "thinking")
        off = {"chat_template_kwargs": {"enable_thinking": False}}
        reply = server.post(CHAT, {**ask, **off, "json_budget": "close"}).json()
        self.assertIn(json.loads(reply["choices"][0]["message"]["content"]), ({"ok": True}, {"ok": False}))

    def test_S115_free_text_and_calls_come_apart_from_thinking_too(self):
        server = self.serve_with(OPENS)
        ended = 0
        for seed in range(8):
            body = {"messages": HELLO, "max_tokens": 200, "temperature": 2, "seed": seed, **self.thinks_an_a(server)}
            message = server.post(CHAT, body).json()["choices"][0]["message"]
            self.assertEqual(message["reasoning_content"], "a")
            self.assertNotEqual(message["content"], "")
            reply = server.post(CHAT, {**body, "tools": [tool("trip", PLACE)], "tool_choice": "required"}).json()
            choice = reply["choices"][0]
            if choice["finish_reason"] == "tool_calls":
                ended += 1
                self.assertEqual(choice["message"]["tool_calls"][0]["function"]["name"], "trip")
                self.assertNotIn("trip", choice["message"]["content"] or "")
                self.assertEqual(choice["message"]["reasoning_content"], "a")
        self.assertGreater(ended, 2)

    def test_S120_calls_between_markers_of_rare_characters(self):
        server = self.serve_with(DEEPSEEK)
        ended = 0
        for choice_of in ("required", "auto"):
            for seed in range(10):
                body = {"messages": HELLO, "max_tokens": 300, "temperature": 2, "seed": seed,
                        "tools": [tool("trip", PLACE)], "tool_choice": choice_of}
                choice = server.post(CHAT, body).json()["choices"][0]
                content = choice["message"]["content"] or ""
                for mark in ("｜tool", "▁calls▁begin", "▁sep"):
                    self.assertNotIn(mark, content)
                text, arguments = "", {}
                for chunk in server.stream(CHAT, {**body, "stream": True}).objects():
                    for part in chunk["choices"]:
                        text += part["delta"].get("content") or ""
                        for call in part["delta"].get("tool_calls", []):
                            arguments.setdefault(call["index"], "")
                            arguments[call["index"]] += call["function"]["arguments"]
                self.assertEqual(text, content)
                calls = choice["message"].get("tool_calls", [])
                self.assertEqual([c["function"]["arguments"] for c in calls], list(arguments.values()))
                if choice_of == "required" and choice["finish_reason"] == "tool_calls":
                    ended += 1
                    self.assertIn(json.loads(calls[0]["function"]["arguments"])["place"], ("Rome", "Oslo"))
        self.assertGreater(ended, 2)


class Unused(ServerTest):

    def test_S109_entries_that_are_no_text_are_never_chosen_under_a_format(self):
        server = self.serve(model=GEMMA)
        knobs = {"temperature": {"temperature": 2}, "top_k": {"top_k": 5}, "top_p": {"top_p": 0.5},
                 "min_p": {"min_p": 0.2}, "typical_p": {"typical_p": 0.5}, "top_n_sigma": {"top_n_sigma": 1},
                 "xtc": {"xtc_probability": 1, "xtc_threshold": 0.01}, "penalties": {"repetition_penalty": 1.3},
                 "dry": {"dry_multiplier": 1}}
        favoured = {str(i): 100 for i in self.no_text(server)}
        self.assertGreater(len(favoured), 2)
        everything = {name: value for one in knobs.values() for name, value in one.items()}
        for one in [*knobs.values(), everything, {"mirostat": 2, "temperature": 2}]:
            for seed in range(3):
                body = {"prompt": "a", "max_tokens": 120, "seed": seed, "json_schema": PLACE, "logit_bias": favoured,
                        "return_token_ids": True, **one}
                reply = server.post(COMPLETE, body)
                self.assertEqual(reply.status, 200, (one, reply.body))
                choice = reply.json()["choices"][0]
                inside = choice["token_ids"][:-1] if choice["finish_reason"] == "stop" else choice["token_ids"]
                self.assertEqual([i for i in inside if str(i) in favoured], [], one)
                if choice["finish_reason"] == "stop":
                    self.assertEqual(list(json.loads(choice["text"])), ["why", "place", "days"])
        # Where nothing but these may be chosen, that request alone ends with an error.
        impossible = {"prompt": "a", "json_schema": PLACE, "allowed_token_ids": [int(i) for i in favoured]}
        self.assertEqual(server.post(COMPLETE, impossible).status, 500)
        self.assertEqual(server.post(COMPLETE, {"prompt": "a", "max_tokens": 3}).status, 200)

    def no_text(self, server):
        """Ids that are shown only where control tokens are."""
        found = []
        for i in range(300):
            shown = [server.post("/detokenize", {"tokens": [i], "special": special}).json()["text"]
                     for special in (False, True)]
            if not shown[0] and shown[1] and not server.get("/props").json().get("end_tokens", []).count(i):
                found.append(i)
        return found


class Run(ServerTest):

    def test_a_schema_on_the_command_line(self):
        schema = self.home / "ok.json"
        schema.write_text(json.dumps(OK))
        for seed in range(5):
            done = self.pawl("run", "-m", GEMMA, "-p", "a", "--schema", schema, "--temperature", "2", "--seed", seed)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(json.loads(done.stdout), ({"ok": True}, {"ok": False}))
        done = self.pawl("run", "-m", GEMMA, "-p", "a", "--schema", schema, "--max-tokens", "3",
                         "--json-budget", "close")
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
