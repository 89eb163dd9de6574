# SPDX-License-Identifier: Apache-2.0
"""What the page is made of, as the server gives it: its files and their headers, and the parts of the API that let an
answer be taken apart and gone on with from any of its tokens."""

import gzip
import re

from pawl_testing import main
from server_testing import CHAT_MODEL, ServerTest

CHAT, COMPLETE = "/v1/chat/completions", "/v1/completions"
HELLO = [{"role": "user", "content": "hello world"}]


class Page(ServerTest):
    def setUp(self):
        super().setUp()
        keys = self.home / "keys"
        keys.write_text("a: key-of-a-person\nb: key-of-another\n")
        self.server = self.serve("--api-key-file", keys, model=CHAT_MODEL)

    def test_the_page_and_its_files_come_without_a_key_under_a_strict_policy(self):
        page = self.server.get("/")
        self.assertEqual((page.status, page.headers["content-type"]), (200, "text/html; charset=utf-8"))
        names = re.findall(rb'(?:src|href)="(/web/[^"#]+)', page.body)
        self.assertIn(b"/web/app.js", names)
        for name in [b"/", *names, b"/web/chart.js"]:
            reply = self.server.get(name.decode())
            self.assertEqual(reply.status, 200, name)
            policy = reply.headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertNotIn("http", policy)
            self.assertEqual(reply.headers["x-content-type-options"], "nosniff")

    def test_the_page_holds_no_script_or_style_of_its_own_and_names_no_other_host(self):
        text = self.server.get("/").body.decode()
        self.assertNotRegex(text, r"<script(?![^>]* src=)")
        self.assertNotRegex(text, r"<style|\sstyle=|\son[a-z]+=")
        self.assertEqual(re.findall(r"https?://(?!www\.w3\.org/)[^\s\"']+", text), [])

    def test_a_file_that_the_browser_has_is_not_sent_again(self):
        first = self.server.get("/web/app.js")
        again = self.server.request("GET", "/web/app.js", headers={"If-None-Match": first.headers["etag"]})
        self.assertEqual((again.status, again.body), (304, b""))
        self.assertEqual(again.headers["etag"], first.headers["etag"])
        other = self.server.request("GET", "/web/app.js", headers={"If-None-Match": '"other"'})
        self.assertEqual((other.status, other.body), (200, first.body))
        self.assertEqual(self.server.request("HEAD", "/").body, b"")

    def test_files_come_compressed_to_who_accepts_it(self):
        plain = self.server.get("/web/chart.js")
        self.assertEqual((plain.headers["vary"], plain.headers.get("content-encoding")), ("Accept-Encoding", None))
        for accepted in ("gzip", "br, gzip;q=0.5", "deflate,gzip , br"):
            small = self.server.get("/web/chart.js", **{"accept-encoding": accepted})
            self.assertEqual((small.status, small.headers["content-encoding"]), (200, "gzip"), accepted)
            self.assertEqual(gzip.decompress(small.body), plain.body)
            self.assertLess(len(small.body), len(plain.body) / 2)
            self.assertNotEqual(small.headers["etag"], plain.headers["etag"])
        for refused in ("", "br", "gzip;q=0", "gzip; q=0.000", "xgzip"):
            self.assertEqual(self.server.get("/web/chart.js", **{"accept-encoding": refused}).body, plain.body, refused)
        known = {"accept-encoding": "gzip", "if-none-match": small.headers["etag"]}
        self.assertEqual(self.server.get("/web/chart.js", **known).status, 304)

    def test_there_are_no_other_files(self):
        for path in ("/web/", "/web/nothing.js", "/web/../app.js", "/web//app.js", "/web/%61pp.js"):
            self.assert_refused(self.server.get(path), 404, "there is no")

    def test_each_key_lists_its_own_requests_the_newest_first(self):
        def ask(key, tokens):
            body = {"prompt": [5, 6, 7], "max_tokens": tokens, "ignore_eos": True}
            self.assertEqual(self.server.post(COMPLETE, body, {"x-api-key": key}).status, 200)

        def listed(key, query=""):
            return self.server.get("/v1/requests" + query, **{"x-api-key": key}).json()["data"]
        for tokens in (1, 2, 3):
            ask("key-of-a-person", tokens)
        ask("key-of-another", 9)
        self.wait_for(lambda: len(listed("key-of-a-person")) == 3)
        self.assertEqual([row["completion_tokens"] for row in listed("key-of-a-person")], [3, 2, 1])
        self.assertEqual([row["completion_tokens"] for row in listed("key-of-another")], [9])
        self.assertEqual(len(listed("key-of-a-person", "?limit=2")), 2)
        for query in ("?limit=0", "?limit=1001", "?limit=x", "?limit=1&x=2", "?most=5", "?lim"):
            reply = self.server.get("/v1/requests" + query, **{"x-api-key": "key-of-a-person"})
            self.assert_refused(reply, 400, "limit=")
        self.assert_refused(self.server.get("/v1/requests"), 401)


class Answers(ServerTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve(model=CHAT_MODEL)
        self.fields = {"temperature": 0.9, "seed": 11, "max_tokens": 24, "return_token_ids": True}

    def chat(self, **more):
        reply = self.server.post(CHAT, {"messages": HELLO, "logprobs": True, "top_logprobs": 4, **self.fields, **more})
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()

    def complete(self, ids, **more):
        reply = self.server.post(COMPLETE, {"prompt": ids, "logprobs": 4, **self.fields, **more})
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json()["choices"][0]

    def test_log_probabilities_carry_ids_where_ids_are_asked_for(self):
        choice = self.chat()["choices"][0]
        entries = choice["logprobs"]["content"]
        ids = choice["token_ids"]
        self.assertEqual([entry["id"] for entry in entries], ids[:len(entries)])
        for entry in entries:
            self.assertEqual(len({one["id"] for one in entry["top_logprobs"]}), 4)
        without = self.chat(return_token_ids=False)["choices"][0]["logprobs"]["content"]
        self.assertEqual(set(without[0]), {"token", "logprob", "bytes", "top_logprobs"})

    def test_completions_have_the_same_list_beside_their_own(self):
        choice = self.complete([5, 6, 7])
        probs = choice["logprobs"]
        self.assertEqual([entry["id"] for entry in probs["content"]], choice["token_ids"][:len(probs["content"])])
        self.assertEqual([entry["logprob"] for entry in probs["content"]], probs["token_logprobs"])
        self.assertNotIn("content", self.complete([5, 6, 7], return_token_ids=False)["logprobs"])
        echo = self.complete([5, 6, 7], echo=True, max_tokens=1)["logprobs"]["content"]
        self.assertEqual(([entry["id"] for entry in echo[:3]], echo[0]["logprob"]), ([5, 6, 7], None))

    def test_an_answer_gone_on_with_from_its_ids_is_the_same_answer(self):
        whole = self.chat(ignore_eos=True)
        prompt, ids = whole["prompt_token_ids"], whole["choices"][0]["token_ids"]
        for kept in (1, 7, 23):
            rest = self.complete(prompt + ids[:kept], max_tokens=24 - kept, ignore_eos=True)
            self.assertEqual(rest["token_ids"], ids[kept:])

    def test_another_token_changes_nothing_before_it(self):
        whole = self.chat(ignore_eos=True)
        prompt, choice = whole["prompt_token_ids"], whole["choices"][0]
        at = 5
        other = next(one["id"] for one in choice["logprobs"]["content"][at]["top_logprobs"]
                     if one["id"] != choice["token_ids"][at])
        kept = choice["token_ids"][:at] + [other]
        turned = self.complete(prompt + kept, max_tokens=18, ignore_eos=True, echo=True)
        self.assertEqual([entry["id"] for entry in turned["logprobs"]["content"]][:len(prompt) + at + 1], prompt + kept)

    def test_token_times_stand_beside_the_ids_and_agree_with_the_timings(self):
        reply = self.chat(return_token_times=True, ignore_eos=True)
        choice, timings = reply["choices"][0], reply["timings"]
        times = choice["token_times_ms"]
        self.assertEqual(len(times), len(choice["token_ids"]))
        self.assertEqual(times, sorted(times))
        self.assertAlmostEqual(times[0], timings["queue_ms"] + timings["prefill_ms"], delta=0.01)
        self.assertAlmostEqual(times[-1] - times[0], timings["decode_ms"], delta=0.01)
        self.assertNotIn("token_times_ms", self.chat()["choices"][0])
        stream = self.server.stream(CHAT, {"messages": HELLO, "stream": True, "return_token_times": True, **self.fields})
        choices = [one for chunk in stream.objects() for one in chunk["choices"]]
        for one in choices:
            self.assertEqual(len(one["token_times_ms"]), len(one["token_ids"]))
            self.assertEqual(one["token_forced"], [False] * len(one["token_ids"]))
        self.assertEqual(sum(len(one["token_ids"]) for one in choices) > 0, True)

    def test_props_name_the_tokens_that_end_an_answer(self):
        ends = self.server.get("/props").json()["end_tokens"]
        marker = self.server.post("/tokenize", {"prompt": "<|im_end|>", "parse_special": True,
                                                "add_special_tokens": False}).json()["tokens"]
        self.assertEqual(len(marker), 1)
        self.assertIn(marker[0], ends)


if __name__ == "__main__":
    main()
