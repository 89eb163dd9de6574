# SPDX-License-Identifier: Apache-2.0
"""What strangers may send: bodies, headers, keys, web pages, half requests. The server answers, and lives."""

import json
import signal
import socket

from pawl_testing import main
from server_testing import CHAT_MODEL, GEMMA, ServerTest

CHAT = "/v1/chat/completions"
COMPLETE = "/v1/completions"


class Bodies(ServerTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve(model=CHAT_MODEL)

    def tearDown(self):
        self.assertEqual(self.server.post(COMPLETE, {"prompt": [5], "max_tokens": 1}).status, 200)
        super().tearDown()

    def chat(self, content):
        return {"messages": [{"role": "user", "content": content}]}

    def test_S061_bodies_of_every_size(self):
        size = 1024
        while size <= 8 << 20:
            reply = self.server.post(CHAT, self.chat("a b" * (size // 3)))
            self.assertIn(reply.status, (200, 400, 413), size)
            if size > 4096:
                self.assertNotEqual(reply.status, 200)
            size *= 2
        many = {"messages": [{"role": ("user", "assistant")[i % 2], "content": "hi"} for i in range(5000)]}
        self.assert_refused(self.server.post(CHAT, many), 400, "context 256")
        reply = self.server.post(COMPLETE, {"prompt": "x" * (9 << 20)})
        self.assert_refused(reply, 413, str(8 << 20))

    def test_S061_nested_json(self):
        for depth in (10, 1000, 100_000):
            for open_, close in (("[", "]"), ('{"a":', "}")):
                body = ('{"prompt":' + open_ * depth + "1" + close * depth + "}").encode()
                self.assert_refused(self.server.post(COMPLETE, body), 400)

    def test_S062_other_character_sets(self):
        begin = b'{"messages":[{"role":"user","content":"'
        for text in (b"\xc4\xe3\xba\xc3", "caf\xe9".encode("latin-1"), b"\xff", b"\xed\xa0\x80"):
            reply = self.server.post(CHAT, begin + text + b'"}]}')
            at = len(begin) + (3 if text.startswith(b"caf") else 0)
            self.assert_refused(reply, 400, f"not UTF-8 at byte {at}")
        self.assert_refused(self.server.post(CHAT, json.dumps(self.chat("hi")).encode("utf-16")), 400, "UTF-8 at byte 0")

    def test_doubled_keys_and_other_bad_json(self):
        for body in (b'{"prompt":"a","prompt":"b"}', b'{"prompt":"a",}', b"{'prompt':1}", b'{"prompt":NaN}',
                     b'{"temperature":1e999,"prompt":"a"}', b'"text"', b"\xef\xbb\xbf{}", b"{}{}"):
            self.assert_refused(self.server.post(COMPLETE, body), 400)

    def test_S064_no_spelling_of_up_leads_anywhere(self):
        ups = ["..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..%00", "..;", "....", "%c0%ae%c0%ae"]
        for up in ups:
            for slash in ("/", "\\", "%5c", "%2f", "//", "%252f"):
                path = f"/{up}{slash}{up}{slash}etc{slash}passwd"
                self.assertIn(self.server.get(path).status, (400, 404), path)
        self.assertEqual(self.server.get("/v1/models/../../health").status, 404)
        self.assertEqual(self.server.get("/etc/passwd").status, 404)

    def test_S006_the_most_verbose_log_survives_bad_ids(self):
        server = self.serve("--log-prompts", model=CHAT_MODEL)
        self.assert_refused(server.post(COMPLETE, {"prompt": [-1]}), 400, "-1")
        self.assertEqual(server.post(COMPLETE, {"prompt": "secret words", "max_tokens": 1}).status, 200)
        self.wait_for(lambda: any("secret words" in line for line in server.log))

    def test_prompts_are_not_in_the_log(self):
        self.server.post(COMPLETE, {"prompt": "secret words", "max_tokens": 1}, {"x-request-id": "look-here"})
        self.wait_for(lambda: any("look-here" in line for line in self.server.log))
        self.assertFalse(any("secret" in line for line in self.server.log))

    def test_traceparent_is_recorded(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        reply = self.server.post(COMPLETE, {"prompt": "a", "max_tokens": 1}, {"traceparent": trace})
        row = self.server.get("/v1/requests/" + reply.json()["id"]).json()
        self.assertEqual(row["traceparent"], trace)
        self.wait_for(lambda: any(trace in line for line in self.server.log))


class Wires(ServerTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve(model=GEMMA)

    def test_what_is_no_http_is_told_and_closed(self):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 600, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                     b"POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
                     b"GET / HTTP/1.1\r\nbad header\r\n\r\n"):
            answer = self.server.raw(data)
            self.assertTrue(answer.startswith(b"HTTP/1.1 4"), (data, answer[:80]))
        self.assertEqual(self.server.get("/health").status, 200)

    def test_headers_have_a_limit(self):
        answer = self.server.raw(b"GET /health HTTP/1.1\r\nX: " + b"y" * 20000 + b"\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 431"), answer[:80])
        self.assertIn(b"16384", answer)

    def test_a_body_that_is_too_large_is_refused_before_it_comes(self):
        answer = self.server.raw(b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 413"), answer[:80])

    def test_a_client_that_waits_for_100_is_told_to_go_on(self):
        sock = self.server.connect()
        body = b'{"prompt":[5],"max_tokens":1}'
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
                     % len(body))
        self.assertTrue(sock.recv(100).startswith(b"HTTP/1.1 100"))
        sock.sendall(body)
        self.assertTrue(sock.recv(1000).startswith(b"HTTP/1.1 200"))
        sock.close()

    def test_half_requests_do_no_harm(self):
        whole = b"POST /v1/completions HTTP/1.1\r\nContent-Length: 29\r\n\r\n" + b'{"prompt":[5],"max_tokens":1}'
        for cut in range(0, len(whole), 3):
            sock = self.server.connect()
            sock.sendall(whole[:cut])
            sock.close()
        self.assertEqual(self.server.get("/health").status, 200)
        self.wait_for(lambda: self.server.metric("pawl_http_connections") <= 1)

    def test_bytes_one_by_one_are_a_request(self):
        sock = self.server.connect()
        for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n":
            sock.sendall(bytes([byte]))
        self.assertTrue(sock.recv(1000).startswith(b"HTTP/1.1 200"))
        sock.close()

    def test_more_connections_than_allowed(self):
        server = self.serve("--max-connections", 3, model=GEMMA)
        held = [server.connect() for _ in range(3)]
        self.wait_for(lambda: b"503" in server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")[:20])
        for sock in held:
            sock.close()
        self.wait_for(lambda: server.get("/health").status == 200)

    def test_a_reader_that_does_not_read_is_left_behind(self):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", self.server.port))
        body = {"prompt": [5], "n": 60, "max_tokens": 250, "ignore_eos": True, "stream": True, "logprobs": 20}
        data = json.dumps(body).encode()
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nx-request-id: slow\r\nContent-Length: %d\r\n\r\n"
                     % len(data) + data)
        self.wait_for(lambda: self.server.get("/v1/requests/slow").json().get("cause") == "slow_reader" or
                      any('"cause": "slow_reader"' in line for line in self.server.log), 120)
        sock.close()
        self.assertEqual(self.server.post(COMPLETE, {"prompt": [5], "max_tokens": 1}).status, 200)


class Strangers(ServerTest):
    def keys(self, text):
        path = self.home / "keys"
        path.write_text(text)
        return path

    def test_keys_open_the_door(self):
        path = self.keys("# who may\nana: secret-of-ana\nsecret-without-name # second\n")
        server = self.serve("--api-key-file", path, model=GEMMA)
        ask = {"prompt": [5], "max_tokens": 1}
        for headers in ({}, {"Authorization": "Bearer wrong-secret"}, {"Authorization": "Basic secret-of-ana"},
                        {"Authorization": "Bearer"}, {"x-api-key": ""}):
            reply = server.post(COMPLETE, ask, headers)
            self.assert_refused(reply, 401)
            self.assertEqual(reply.error["code"], "invalid_api_key")
        ana = {"Authorization": "Bearer secret-of-ana"}
        other = {"x-api-key": "secret-without-name"}
        mine = server.post(COMPLETE, ask, ana)
        self.assertEqual(mine.status, 200)
        self.assertEqual(server.post(COMPLETE, ask, other).status, 200)
        self.assertEqual(server.get("/health").status, 200)
        self.assertEqual(server.get("/metrics").status, 401)
        path_of_mine = "/v1/requests/" + mine.json()["id"]
        self.assertEqual(server.request("GET", path_of_mine, headers=ana).json()["key"], "ana")
        self.assertEqual(server.request("GET", path_of_mine, headers=other).status, 404)
        # SIGHUP reads the file again; a broken one changes nothing.
        path.write_text("ben: another-secret\n")
        server.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: server.post(COMPLETE, ask, {"Authorization": "Bearer another-secret"}).status == 200)
        self.assertEqual(server.post(COMPLETE, ask, ana).status, 401)
        path.write_text("short\n")
        server.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: any("stay as they were" in line for line in server.log))
        self.assertEqual(server.post(COMPLETE, ask, {"Authorization": "Bearer another-secret"}).status, 200)

    def test_a_key_file_without_keys_is_an_error(self):
        for text in ("", "# none\n", "abc\n", "a: 12345678\na: 23456789\n"):
            result = self.pawl("serve", "-m", GEMMA, "--port", 0, "--api-key-file", self.keys(text))
            self.assert_error(result, 2, "key")

    def test_S063_web_pages_need_leave(self):
        evil = {"Origin": "https://evil.example"}
        server = self.serve(model=GEMMA)
        reply = server.request("GET", "/v1/models", headers=evil)
        self.assertFalse([h for h in reply.headers if h.startswith("access-control")])
        self.assert_refused(server.post(COMPLETE, {"prompt": [5]}, evil), 403, "evil.example")
        self.assertFalse([h for h in server.request("OPTIONS", COMPLETE, headers=evil).headers
                          if h.startswith("access-control")])
        # DNS rebinding: the page's own name, resolved to 127.0.0.1.
        self.assert_refused(server.request("GET", "/v1/models", headers={"Host": "evil.example"}), 403, "evil.example")
        for host in ("localhost:1", "127.0.0.1", "[::1]:80", "my.localhost"):
            self.assertEqual(server.request("GET", "/health", headers={"Host": host}).status, 200)

        good = {"Origin": "https://good.example"}
        server = self.serve("--cors-origin", "https://good.example", "--api-key-file", self.keys("a: 12345678\n"),
                            model=GEMMA)
        preflight = server.request("OPTIONS", COMPLETE, headers={**good, "Access-Control-Request-Method": "POST"})
        self.assertEqual((preflight.status, preflight.headers["access-control-allow-origin"]),
                         (204, "https://good.example"))
        wrong = server.post(COMPLETE, {"prompt": [5]}, {**good, "Authorization": "Bearer nonsense"})
        self.assertEqual((wrong.status, wrong.headers["access-control-allow-origin"]), (401, "https://good.example"))
        self.assertNotIn("access-control-allow-credentials", wrong.headers)
        self.assertNotIn("access-control-allow-origin", server.request("GET", "/health", headers=evil).headers)


if __name__ == "__main__":
    main()
