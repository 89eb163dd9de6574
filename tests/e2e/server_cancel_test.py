# SPDX-License-Identifier: Apache-2.0
"""Who leaves, when, and what is counted: cancelled requests stop within a step, disturb nobody and are recorded."""

import random
import socket
import threading
import time

from pawl_testing import main, needs_default_model
from server_testing import DEFAULT_MODEL, GEMMA, ServerTest

COMPLETE = "/v1/completions"
LONG = {"prompt": "The sea is", "max_tokens": 4000, "ignore_eos": True, "temperature": 0, "stream": True}


class Counting(ServerTest):
    def test_S043_nobody_is_cancelled_who_ends_by_himself(self):
        server = self.serve(model=GEMMA)
        connection = [threading.Thread(target=self.many, args=(server, 250)) for _ in range(4)]
        for one in connection:
            one.start()
        for one in connection:
            one.join()
        self.wait_for(lambda: server.metric("pawl_num_requests_running") == 0)
        page = server.get("/metrics").body.decode()
        cancelled = [line for line in page.splitlines() if 'cancelled' in line and not line.startswith("#")]
        for line in cancelled:
            self.assertEqual(float(line.rsplit(" ", 1)[1]), 0, line)
        for line in server.log:
            self.assertNotIn('"state": "cancelled"', line)

    def many(self, server, count):
        for i in range(count):
            reply = server.post(COMPLETE, {"prompt": [2, 5 + i % 100], "max_tokens": 3, "stream": i % 2 == 0})
            self.assertEqual(reply.status, 200)

    def test_S041_ids_that_never_were(self):
        server = self.serve(model=GEMMA)
        self.assert_refused(server.request("DELETE", "/v1/requests/cmpl-never"), 404, "cmpl-never")
        identity = server.post(COMPLETE, {"prompt": [2, 5], "max_tokens": 2}).json()["id"]
        for _ in range(2):
            reply = server.request("DELETE", f"/v1/requests/{identity}")
            self.assertEqual((reply.status, reply.json()["cancelled"]), (200, False))

    def test_S042_a_request_of_many_choices_ends_as_one(self):
        server = self.serve("--parallel", 4, "--max-waiting", 4000, model=GEMMA)
        used = server.metric("pawl_kv_blocks_used")
        for _ in range(30):
            stream = server.stream(COMPLETE, {"prompt": [2, 5], "n": 60, "max_tokens": 250, "ignore_eos": True,
                                              "stream": True})
            self.assertEqual(stream.status, 200)
            next(stream.events())
            stream.reset()
        self.wait_for(lambda: server.metric("pawl_num_requests_running") == 0)
        self.assertEqual(server.metric("pawl_kv_blocks_used"), used)


@needs_default_model
class Leaving(ServerTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--parallel", 1, model=DEFAULT_MODEL)

    def running(self):
        return self.server.metric("pawl_num_requests_running") + self.server.metric("pawl_num_requests_waiting")

    def last_row(self, identity):
        self.wait_for(lambda: self.server.get(f"/v1/requests/{identity}").json()["state"] != "running", 10)
        return self.server.get(f"/v1/requests/{identity}").json()

    def test_S039_S044_the_client_leaves_in_mid_stream(self):
        for leave in ("reset", "close", "half"):
            stream = self.server.stream(COMPLETE, LONG)
            objects = stream.objects()
            identity = [next(objects)["id"] for _ in range(20)][0]
            if leave == "reset":
                stream.reset()
            elif leave == "close":
                stream.close()
            else:
                stream.sock.shutdown(socket.SHUT_WR)  # documented: an end of the sending half is an end
            row = self.last_row(identity)
            self.assertEqual((row["state"], row["cause"]), ("cancelled", "client_closed"))
            self.assertGreaterEqual(row["completion_tokens"], 20)
            self.assertLess(row["completion_tokens"], 200)
            # The gauges are of the last step that ended; the row is written within it.
            self.wait_for(lambda: self.running() == 0)

    def test_S039_the_client_leaves_without_streaming(self):
        sock = self.server.send(COMPLETE, {**LONG, "stream": False}, {"x-request-id": "quiet"})
        self.wait_for(lambda: self.server.get("/v1/requests/quiet").status == 200)
        sock.close()
        row = self.last_row("quiet")
        self.assertEqual((row["state"], row["delivered_tokens"]), ("cancelled", 0))

    def test_the_client_leaves_while_the_prompt_is_computed(self):
        body = {**LONG, "prompt": [5 + i % 5000 for i in range(3900)]}
        sock = self.server.send(COMPLETE, body, {"x-request-id": "prefill"})
        self.wait_for(lambda: self.server.metric("pawl_num_requests_running") == 1)
        sock.close()
        row = self.last_row("prefill")
        self.assertEqual((row["state"], row["completion_tokens"]), ("cancelled", 0))

    def test_S040_leaving_the_queue_stops_nobody_else(self):
        asked = {**LONG, "max_tokens": 60}
        alone = [o["choices"][0]["text"] for o in self.server.stream(COMPLETE, asked).objects()]
        draw = random.Random(4)
        for round in range(8):
            first = self.server.stream(COMPLETE, asked)
            waiting = self.server.send(COMPLETE, LONG, {"x-request-id": f"b{round}"})
            timer = threading.Timer(draw.uniform(0, 0.3), waiting.close)
            timer.start()
            self.assertEqual([o["choices"][0]["text"] for o in first.objects()], alone)
            timer.join()
            if self.server.get(f"/v1/requests/b{round}").status == 200:
                self.assertEqual(self.last_row(f"b{round}")["state"], "cancelled")
        self.wait_for(lambda: self.running() == 0)

    def test_S041_DELETE_ends_it_once_and_says_so_to_its_reader(self):
        stream = self.server.stream(COMPLETE, LONG)
        objects = stream.objects()
        identity = next(objects)["id"]
        self.assertTrue(self.server.request("DELETE", f"/v1/requests/{identity}").json()["cancelled"])
        self.assertFalse(self.server.request("DELETE", f"/v1/requests/{identity}").json()["cancelled"])
        last = list(objects)[-1]
        self.assertEqual(last["error"]["code"], "deleted")
        self.assertFalse(stream.is_done)
        self.assertEqual(self.last_row(identity)["cause"], "deleted")
        self.assertEqual(self.server.post(COMPLETE, {"prompt": "a", "max_tokens": 1}).status, 200)

    def test_S053_more_requests_than_slots_get_their_own_answers(self):
        def ask(i, answers):
            answers[i] = self.server.post(COMPLETE, {"prompt": f"{i} and", "max_tokens": 6, "temperature": 0}).json()
        expected, answers = {}, {}
        for i in range(4):
            ask(i, expected)
        threads = [threading.Thread(target=ask, args=(i, answers)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(4):
            self.assertEqual(answers[i]["choices"][0]["text"], expected[i]["choices"][0]["text"])

    def test_the_queue_is_bounded(self):
        server = self.serve("--parallel", 1, "--max-waiting", 2, model=DEFAULT_MODEL)
        held = [server.send(COMPLETE, LONG) for _ in range(3)]
        self.wait_for(lambda: server.metric("pawl_num_requests_waiting") == 2)
        reply = server.post(COMPLETE, {"prompt": "a"})
        self.assert_refused(reply, 429, "wait")
        self.assertEqual(reply.headers["retry-after"], "1")
        started = time.monotonic()
        for sock in held:
            sock.close()
        self.wait_for(lambda: server.post(COMPLETE, {"prompt": "a", "max_tokens": 1}).status == 200)
        self.assertLess(time.monotonic() - started, 5)


if __name__ == "__main__":
    main()
