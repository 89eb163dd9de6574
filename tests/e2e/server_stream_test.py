# SPDX-License-Identifier: Apache-2.0
"""Streams of pawl serve, byte by byte: frames, the order of chunks, stop strings, usage, errors in the middle."""

import json

from pawl_testing import main, needs_default_model
from server_testing import CHAT_MODEL, DEFAULT_MODEL, GEMMA, ServerTest

IDS = [2, 43, 80, 117]
CHAT = "/v1/chat/completions"
COMPLETE = "/v1/completions"
HELLO = [{"role": "user", "content": "hello"}]


class Streams(ServerTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve(model=CHAT_MODEL)

    def body(self, path, **fields):
        asked = {"messages": HELLO} if path == CHAT else {"prompt": IDS}
        return {**asked, "temperature": 0, "max_tokens": 24, "ignore_eos": True, **fields}

    def objects(self, path, **fields):
        stream = self.server.stream(path, self.body(path, stream=True, **fields))
        self.assertEqual((stream.status, stream.headers["content-type"]), (200, "text/event-stream; charset=utf-8"))
        objects = list(stream.objects())
        self.assertTrue(stream.is_done and stream.is_whole)
        return objects

    def text(self, objects):
        pieces = []
        for item in objects:
            for choice in item["choices"]:
                pieces.append(choice["delta"].get("content", "") if "delta" in choice else choice["text"])
        return "".join(pieces)

    def whole(self, path, **fields):
        choice = self.server.post(path, self.body(path, **fields)).json()["choices"][0]
        return choice["message"]["content"] if path == CHAT else choice["text"]

    def test_a_stream_says_what_a_whole_reply_says(self):
        for path in (CHAT, COMPLETE):
            objects = self.objects(path)
            self.assertEqual(self.text(objects), self.whole(path))
            self.assertEqual(len({o["id"] for o in objects}), 1)
        first = self.objects(CHAT)[0]["choices"][0]["delta"]
        self.assertEqual(first, {"role": "assistant", "content": ""})

    def test_S026_bytes_wait_until_their_character_is_whole(self):
        def byte_of(token):
            reply = self.server.post(CHAT, self.body(CHAT, max_tokens=1, allowed_token_ids=[token], logprobs=True))
            (content,) = reply.json()["choices"][0]["logprobs"]["content"]
            return bytes(content["bytes"])
        ids = {byte_of(token): token for token in range(256)}
        for character in ("é", "€", "🙂"):
            pieces = [bytes([byte]) for byte in character.encode()]
            allowed = [ids[piece] for piece in pieces]
            whole = 0
            for seed in range(12):  # so hot that each byte is about as likely
                objects = self.objects(COMPLETE, temperature=20, seed=seed, max_tokens=100, return_token_ids=True,
                                       allowed_token_ids=allowed)
                drawn = [i for o in objects for c in o["choices"] for i in c.get("token_ids", [])]
                data = b"".join(pieces[allowed.index(i)] for i in drawn)
                # Python, too, puts one replacement for each maximal part that is no character.
                expected = data.decode("utf-8", "replace")
                self.assertEqual(self.text(objects), expected)
                self.assertEqual(sum(self.text([o]).count(character) for o in objects), expected.count(character))
                whole += expected.count(character)
            self.assertGreater(whole, 0)

    def test_S027_S028_every_delta_is_text_whatever_the_model_writes(self):
        # Draws among bytes: most of what comes is no UTF-8.
        for seed in range(5):
            fields = {"temperature": 1, "seed": seed, "allowed_token_ids": list(range(100, 256)), "max_tokens": 60}
            stream = self.server.stream(COMPLETE, self.body(COMPLETE, stream=True, return_token_ids=True, **fields))
            objects = list(stream.objects())
            stream.raw.decode("utf-8")
            ids = [i for o in objects for c in o["choices"] for i in c.get("token_ids", [])]
            text = self.text(objects)
            self.assertEqual(text, self.whole(COMPLETE, **fields))
            self.assertEqual(text, self.server.post("/detokenize", {"tokens": ids}).json()["text"])
        self.assertIn("\ufffd", text)

    def test_S029_usage_has_a_chunk_of_its_own(self):
        for path in (CHAT, COMPLETE):
            *others, last = self.objects(path, stream_options={"include_usage": True})
            self.assertEqual(last["choices"], [])
            self.assertEqual(last["usage"]["completion_tokens"], 24)
            self.assertIn("queue_ms", last["timings"])
            for item in others:
                self.assertIsNone(item["usage"])
                self.assertEqual(len(item["choices"]), 1)
            self.assertNotIn("usage", self.objects(path)[0])
            counts = [o["usage"]["completion_tokens"] for o in
                      self.objects(path, stream_options={"continuous_usage_stats": True}) if o["usage"]]
            self.assertEqual((counts, counts[-1]), (sorted(counts), 24))

    def test_S030_the_reason_comes_without_text(self):
        for path in (CHAT, COMPLETE):
            for fields in ({}, {"stop": [self.whole(path)[6:9]]}):
                reasons = [(o["choices"][0]["finish_reason"], self.text([o])) for o in self.objects(path, **fields)]
                self.assertEqual(reasons[-1][1], "")
                self.assertEqual(reasons[-1][0], "stop" if fields else "length")
                self.assertTrue(all(reason is None for reason, _ in reasons[:-1]))
        end = self.objects(CHAT)[-1]["choices"][0]
        self.assertEqual(end["delta"], {})
        self.assertIn("timings", self.objects(CHAT)[-1])

    def test_S021_no_byte_of_a_stop_string_leaves(self):
        whole = self.whole(COMPLETE)
        for begin in range(0, len(whole) - 3, 2):
            for length in (1, 2, 3, 5):
                stop = whole[begin:begin + length]
                if not stop or "\ufffd" in stop:
                    continue
                expected = whole[:whole.index(stop)]
                fields = {"stop": [stop, "never seen"]}
                objects = self.objects(COMPLETE, **fields)
                self.assertEqual((self.text(objects), objects[-1]["choices"][0]["finish_reason"]), (expected, "stop"))
                self.assertEqual(objects[-1]["choices"][0]["stop_reason"], stop)
                self.assertEqual(self.whole(COMPLETE, **fields), expected)

    def test_S021_logprobs_do_not_tell_what_the_stop_string_swallowed(self):
        whole = self.whole(COMPLETE)
        stop = whole[8:12]
        choice = self.server.post(COMPLETE, self.body(COMPLETE, stop=stop, logprobs=0)).json()["choices"][0]
        self.assertEqual(choice["text"], whole[:whole.index(stop)])
        self.assertLess(choice["logprobs"]["text_offset"][-1], max(len(choice["text"]), 1))

    def test_S022_held_back_text_comes_at_the_end(self):
        whole = self.whole(COMPLETE)
        for cut in range(1, 6):
            # The text's end could begin this stop string, and the cap ends it first.
            stop = whole[-cut:] + "~never~"
            self.assertEqual(self.whole(COMPLETE, stop=stop), whole)
            self.assertEqual(self.text(self.objects(COMPLETE, stop=stop)), whole)

    def test_S035_choices_are_told_apart(self):
        objects = self.objects(CHAT, n=3, temperature=1, seed=9)
        for index in range(3):
            mine = [o for o in objects if o["choices"] and o["choices"][0]["index"] == index]
            alone = self.text(self.objects(CHAT, temperature=1, seed=9 + index))
            self.assertEqual(self.text(mine), alone)
            self.assertEqual(mine[-1]["choices"][0]["finish_reason"], "length")

    def test_logprobs_of_a_stream_are_those_of_the_whole(self):
        streamed = []
        for item in self.objects(CHAT, logprobs=True, top_logprobs=2):
            streamed += (item["choices"][0]["logprobs"] or {"content": []})["content"]
        body = self.server.post(CHAT, self.body(CHAT, logprobs=True, top_logprobs=2)).json()
        self.assertEqual(streamed, body["choices"][0]["logprobs"]["content"])

    def test_an_error_before_the_first_token_has_its_status(self):
        reply = self.server.post(COMPLETE, {"prompt": [5] * 300, "stream": True})
        self.assert_refused(reply, 400, "300", "256")

    def test_http_1_0_gets_a_stream_without_chunks(self):
        data = json.dumps(self.body(COMPLETE, stream=True)).encode()
        answer = self.server.raw(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
        head, body = answer.split(b"\r\n\r\n", 1)
        self.assertNotIn(b"chunked", head)
        self.assertTrue(body.endswith(b"data: [DONE]\n\n"))
        for event in body.split(b"\n\n")[:-2]:
            json.loads(event.removeprefix(b"data: "))

    def test_requests_may_come_before_their_turn(self):
        data = json.dumps(self.body(COMPLETE)).encode()
        one = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data)
        last = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        answer = self.server.raw(one * 3 + last)
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 4)
        self.assertTrue(answer.endswith(b'{"status": "ok"}'))


@needs_default_model
class LongOnes(ServerTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--ping-ms", 100, "--drain-timeout", 0.3, model=DEFAULT_MODEL)

    def test_S032_signs_of_life_while_the_prompt_is_computed(self):
        body = {"prompt": [5 + i % 5000 for i in range(3500)], "max_tokens": 2, "stream": True}
        stream = self.server.stream(COMPLETE, body)
        self.assertTrue(list(stream.events())[-1] == "[DONE]")
        self.assertIn(b": ping\n\n", stream.raw)
        for line in stream.raw.split(b"\n"):
            if line.startswith(b"data:") and line != b"data: [DONE]":
                json.loads(line[5:])
        refused = self.server.post(COMPLETE, {**body, "prompt": [5] * 5000})
        self.assert_refused(refused, 400, "5000", "4096")
        shown = list(self.server.stream(COMPLETE, {**body, "prompt": [7 + i % 5000 for i in range(3500)],
                                                   "stream_options": {"include_progress": True}}).objects())
        self.assertEqual(shown[0]["progress"]["prompt_tokens"], 3500)

    def test_S031_a_deadline_in_mid_stream_is_an_error_event(self):
        stream = self.server.stream(COMPLETE, {"prompt": "The sea", "max_tokens": 4000, "ignore_eos": True,
                                               "stream": True, "timeout": 1.5})
        objects = list(stream.objects())
        self.assertEqual(objects[-1]["error"]["code"], "deadline")
        self.assertEqual((stream.is_done, stream.is_whole), (False, False))
        self.assertGreater(len(objects), 2)
        whole = self.server.post(COMPLETE, {"prompt": "The sea", "max_tokens": 4000, "ignore_eos": True, "timeout": 0.5})
        self.assertEqual((whole.status, whole.error["code"], whole.headers["x-should-retry"]), (408, "deadline", "false"))


if __name__ == "__main__":
    main()
