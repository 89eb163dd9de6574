# SPDX-License-Identifier: Apache-2.0
"""Starting, being watched, and ending: readiness, metrics, signals, what is shared and what is not."""

import json
import signal
import socket
import threading
import time

from pawl_testing import main, needs_default_model
from server_testing import DEFAULT_MODEL, GEMMA, ServerTest

COMPLETE = "/v1/completions"
LONG = {"prompt": "The sea is", "max_tokens": 4000, "ignore_eos": True, "temperature": 0, "stream": True}


class Watching(ServerTest):
    def test_S065_reading_changes_nothing(self):
        server = self.serve(model=GEMMA)
        server.post(COMPLETE, {"prompt": [5], "max_tokens": 100, "ignore_eos": True})
        def counters():
            return [line for line in server.get("/metrics").body.decode().splitlines()
                    if not line.startswith("#") and "http_" not in line and "process" not in line]
        self.wait_for(lambda: server.metric("pawl_requests_finished_total") == 1 and
                      server.metric("pawl_num_requests_running") + server.metric("pawl_ledger_rows_waiting") == 0)
        first = counters()
        threads = [threading.Thread(target=server.get, args=(path,)) for path in ["/health"] * 10 + ["/metrics"] * 10]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counters(), first)
        self.assertEqual(server.metric("pawl_generation_tokens_total"), 100)
        self.assertEqual(server.metric("pawl_num_requests_running"), 0)

    def test_S066_health_is_answered_beside_200_slow_streams(self):
        server = self.serve("--max-waiting", 300, model=GEMMA)
        body = {"prompt": [5], "max_tokens": 250, "ignore_eos": True, "stream": True}
        held = []
        for _ in range(200):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            sock.connect(("127.0.0.1", server.port))
            data = json.dumps(body).encode()
            sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
            held.append(sock)
        # A busy machine may spoil a round, a server whose threads are all taken spoils every one.
        slowest = [self.slowest_health(server) for _ in range(5)]
        for sock in held:
            sock.close()
        self.assertLess(min(slowest), 0.05, slowest)

    def slowest_health(self, server, count=40):
        times = []
        for _ in range(count):
            start = time.monotonic()
            self.assertEqual(server.get("/health").status, 200)
            times.append(time.monotonic() - start)
        return max(times)

    def test_ready_follows_the_model(self):
        server = self.serve(model=GEMMA)
        self.assertEqual(server.get("/ready").json(), {"status": "ready"})
        result = self.pawl("serve", "-m", self.home / "none.gguf", "--port", 0)
        self.assert_error(result, 3, "none.gguf")

    @needs_default_model
    def test_S048_a_shared_beginning_is_computed_once(self):
        server = self.serve(model=DEFAULT_MODEL)
        begin = [5 + i % 3000 for i in range(500)]
        first = server.post(COMPLETE, {"prompt": begin + [50, 51], "max_tokens": 2}).json()
        second = server.post(COMPLETE, {"prompt": begin + [60, 61], "max_tokens": 2}).json()
        self.assertGreaterEqual(second["usage"]["prompt_tokens_details"]["cached_tokens"], 480)
        self.assertEqual(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        salted = server.post(COMPLETE, {"prompt": begin + [60, 61], "max_tokens": 2, "cache_salt": "x"}).json()
        self.assertEqual(salted["usage"]["prompt_tokens_details"]["cached_tokens"], 0)

    def test_S049_no_state_is_taken_from_a_file(self):
        body = {"prompt": [2, 43, 80], "max_tokens": 20, "temperature": 0, "ignore_eos": True, "return_token_ids": True}
        fresh = self.serve(model=GEMMA).post(COMPLETE, body).json()["choices"][0]["token_ids"]
        server = self.serve(model=GEMMA)
        server.post(COMPLETE, {**body, "prompt": [2, 43, 81]})
        for action in ("save", "restore", "erase"):
            self.assert_refused(server.post(f"/slots/0?action={action}", {"filename": "state.bin"}), 404, "/slots/0")
        self.assertEqual(server.post(COMPLETE, body).json()["choices"][0]["token_ids"], fresh)

    def test_S052_greedy_text_does_not_depend_on_the_company(self):
        server = self.serve(model=GEMMA)
        asked = {"prompt": [2, 43, 80], "max_tokens": 60, "temperature": 0, "ignore_eos": True}
        alone = server.post(COMPLETE, asked).json()["choices"][0]["text"]
        for _ in range(5):
            texts = []
            def ask():
                texts.append(server.post(COMPLETE, asked).json()["choices"][0]["text"])
            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            server.post(COMPLETE, {**asked, "n": 7, "temperature": 1})
            for thread in threads:
                thread.join()
            self.assertEqual(set(texts), {alone})


class Ending(ServerTest):
    def test_S068_idle_and_twice_in_a_row(self):
        for round in range(6):
            server = self.serve(model=GEMMA)
            server.get("/health")
            start = time.monotonic()
            server.process.send_signal(signal.SIGINT if round % 2 else signal.SIGTERM)
            if round > 3:
                server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(10), 0, server.log)
            self.assertLess(time.monotonic() - start, 3)

    def test_S068_the_port_is_free_for_the_next_start(self):
        first = self.serve(model=GEMMA)
        held = first.connect()
        first.get("/health")
        self.assertEqual(first.stop(), 0)
        again = self.start("serve", "-m", GEMMA, "--port", first.port)
        self.addCleanup(lambda: (again.kill(), again.communicate()))
        self.assertIn(str(first.port), again.stdout.readline())
        held.close()
        taken = self.pawl("serve", "-m", GEMMA, "--port", first.port)
        self.assert_error(taken, 3, str(first.port))

    @needs_default_model
    def test_S068_while_the_model_is_loading(self):
        server = self.serve(model=DEFAULT_MODEL, wait=False)
        reply = server.get("/ready")
        self.assertIn(reply.status, (200, 503))
        if reply.status == 503:
            self.assertEqual(reply.error["code"], "loading")
            self.assertEqual(reply.headers["retry-after"], "1")
        start = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - start, 3)

    @needs_default_model
    def test_S067_streams_end_with_an_error_event(self):
        server = self.serve("--drain-timeout", 1, model=DEFAULT_MODEL)
        streams = [server.stream(COMPLETE, LONG) for _ in range(3)]
        objects = [stream.objects() for stream in streams]
        for one in objects:
            next(one)
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        for stream, one in zip(streams, objects):
            self.assertEqual(list(one)[-1]["error"]["code"], "shutdown")
            self.assertFalse(stream.is_done)
        self.assertEqual(server.process.wait(10), 0)
        self.assertLess(time.monotonic() - start, 5)

    @needs_default_model
    def test_replies_under_way_end_by_themselves_if_there_is_time(self):
        server = self.serve("--drain-timeout", 30, model=DEFAULT_MODEL)
        stream = server.stream(COMPLETE, {**LONG, "max_tokens": 60})
        objects = stream.objects()
        next(objects)
        server.process.send_signal(signal.SIGTERM)
        self.wait_for(lambda: self.refuses(server))
        self.assertEqual(list(objects)[-1]["choices"][0]["finish_reason"], "length")
        self.assertTrue(stream.is_done)
        self.assertEqual(server.process.wait(10), 0)

    def refuses(self, server):
        try:
            server.connect().close()
            return False
        except ConnectionRefusedError:
            return True


if __name__ == "__main__":
    main()
