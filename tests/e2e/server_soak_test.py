# SPDX-License-Identifier: Apache-2.0
"""Many clients for a while, of which many leave: at the end nothing is held, nobody else was disturbed, and the
ledger says what the clients saw.

PAWL_SOAK_SECONDS (10) and PAWL_SOAK_CANCELS (200) make it as long as wanted; PAWL_SOAK_MODEL is a file to be served
in place of the small one. From 120 seconds on the last fifth may hold at most 2 % more memory than the first half: what
is taken once, by the KV cache, by each slot and by SQLite for its pages, is taken by then.
"""

import collections
import json
import os
import pathlib
import random
import sqlite3
import threading
import time

from pawl_testing import main
from server_testing import CHAT_MODEL, ServerTest

SECONDS = float(os.environ.get("PAWL_SOAK_SECONDS", "10"))
CANCELS = int(os.environ.get("PAWL_SOAK_CANCELS", "200"))
MODEL = pathlib.Path(os.environ.get("PAWL_SOAK_MODEL") or CHAT_MODEL)
IS_SMALL = MODEL == CHAT_MODEL
LONGEST = 200 if IS_SMALL else 400  # tokens of a prompt or an answer
CHAT = "/v1/chat/completions"
COMPLETE = "/v1/completions"


class Client:
    """What one client asked for and saw. state: what the ledger has to say, None where either may be true."""

    def __init__(self, draw):
        self.draw = draw
        self.id = None
        self.tokens = 0  # seen
        self.prompt_tokens = None
        self.state = None
        self.is_exact = False  # the reply told its usage

    def body(self, **fields):
        prompt = [5 + self.draw.randrange(100) for _ in range(self.draw.choice((3, 20, LONGEST)))]
        return {"prompt": prompt, "max_tokens": self.draw.choice((1, 8, 40)), "ignore_eos": True,
                "seed": self.draw.randrange(1000), **fields}

    def see(self, usage, identity):
        self.id, self.state, self.is_exact = identity, "length", True
        self.tokens, self.prompt_tokens = usage["completion_tokens"], usage["prompt_tokens"]


def leave_at_once(server, client):
    """Before anything comes back: while it waits, while its prompt is computed, or later."""
    fields = {"n": client.draw.choice((1, 4)), "stream": client.draw.random() < 0.5, "max_tokens": LONGEST // 2}
    sock = server.send(COMPLETE, {**client.body(**fields), "prompt": [7] * (LONGEST // 2)})
    time.sleep(client.draw.choice((0, 0.002, 0.01, 0.05)))
    sock.close()


def leave_in_mid_stream(server, client):
    fields = {"n": client.draw.choice((1, 1, 4)), "stream": True, "return_token_ids": True}
    asked = {**client.body(**fields), "prompt": [7, 8, 9], "max_tokens": LONGEST}
    stream = server.stream(COMPLETE, asked)
    assert stream.status == 200
    wanted, ways = client.draw.randrange(1, LONGEST // 2), client.draw.choice(("reset", "close", "delete"))
    objects = stream.objects()
    for one in objects:
        client.id = one["id"]
        client.tokens += sum(len(choice.get("token_ids") or []) for choice in one["choices"])
        if client.tokens >= wanted:
            break
    if ways == "delete":
        was_running = server.request("DELETE", f"/v1/requests/{client.id}").json()["cancelled"]
        last = [one for one in objects if one.get("error") or one["choices"][0]["finish_reason"]][-1]
        # One that was asked to stop may end by itself in the step at hand.
        assert was_running or "error" not in last, last
        client.state = "cancelled" if "error" in last else "length"
        stream.close()
    else:
        (stream.reset if ways == "reset" else stream.close)()


def read_whole(server, client):
    reply = server.post(COMPLETE, client.body(n=client.draw.choice((1, 3)), logprobs=client.draw.choice((None, 2))))
    assert reply.status == 200, reply.body
    client.see(reply.json()["usage"], reply.json()["id"])


def read_stream(server, client):
    stream = server.stream(COMPLETE, client.body(stream=True, stream_options={"include_usage": True}))
    *_, last = stream.objects()
    assert stream.is_done and stream.is_whole
    client.see(last["usage"], last["id"])
    stream.close()


def chat(server, client):
    body = {"messages": [{"role": "user", "content": f"say {client.draw.randrange(100)}"}], "max_tokens": 12,
            "ignore_eos": True, "stop": ["never so"], "temperature": 0.7}
    reply = server.post(CHAT, body)
    assert reply.status == 200, reply.body
    client.see(reply.json()["usage"], reply.json()["id"])


def ask_what_is_refused(server, client):
    body = client.draw.choice(({"prompt": []}, {"prompt": [-1]}, {"prompt": "a", "nosuch": 1}, {"prompt": "a", "n": 0},
                               {"prompt": [5] * 100_000}, b"{", {}))
    assert server.post(COMPLETE, body).status == 400


KINDS = (leave_at_once, leave_in_mid_stream, read_whole, read_stream, chat, ask_what_is_refused)
LEAVING = (leave_at_once, leave_in_mid_stream)


class Soak(ServerTest):
    def setUp(self):
        super().setUp()
        self.ledger = self.home / "usage.db"
        size = 256 if IS_SMALL else 1024
        chats = () if IS_SMALL else ("--chat-template", "gemma")
        self.server = self.serve("--ledger", self.ledger, "--parallel", 4, "--max-waiting", 200, "--context", size,
                                 "--kv-positions", 4 * size, *chats, model=MODEL)
        self.server.patience_s = 600
        self.failures = []
        self.clients = []

    def work(self, number, kinds, goes_on):
        draw = random.Random(number)
        while goes_on() and not self.failures:
            client, kind = Client(draw), draw.choice(kinds)
            try:
                kind(self.server, client)
            except Exception as failure:  # told by the main thread
                self.failures.append(f"{kind.__name__}: {failure!r}")
            self.clients.append((kind, client))

    def run_threads(self, count, kinds, goes_on):
        threads = [threading.Thread(target=self.work, args=(i, kinds, goes_on)) for i in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def assert_nothing_is_held(self):
        self.assertEqual(self.failures, [])
        metric = self.server.metric
        self.wait_for(lambda: metric("pawl_num_requests_running") + metric("pawl_num_requests_waiting") == 0)
        self.assertEqual(metric("pawl_kv_blocks_used"), 0)
        self.wait_for(lambda: metric("pawl_ledger_rows_waiting") == 0)

    def rows(self):
        with sqlite3.connect(self.ledger) as database:
            database.row_factory = sqlite3.Row
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            return {row["id"]: row for row in database.execute("SELECT * FROM requests")}

    def assert_ledger_agrees(self, others=0):
        """others: requests that were asked beside those of the clients."""
        rows = self.rows()
        accepted = [client for kind, client in self.clients if kind is not ask_what_is_refused]
        self.assertEqual(len(rows), self.server.metric("pawl_requests_finished_total"))
        known = [client for client in accepted if client.id is not None]
        self.assertEqual(len({client.id for client in known}), len(known))
        self.assertLessEqual(len(known) + others, len(rows))
        self.assertLessEqual(len(rows), len(accepted) + others)
        for client in known:
            row = rows[client.id]
            if client.state is not None:
                self.assertEqual(row["state"], client.state)
            if client.is_exact:
                self.assertEqual((row["completion_tokens"], row["prompt_tokens"], row["delivered_tokens"]),
                                 (client.tokens, client.prompt_tokens, client.tokens))
            else:
                self.assertGreaterEqual(row["completion_tokens"], client.tokens)
        states = collections.Counter(row["state"] for row in rows.values())
        self.assertEqual(set(states) - {"length", "stop", "cancelled"}, set())
        total = sum(row["completion_tokens"] for row in rows.values())
        self.assertEqual(total, self.server.metric("pawl_generation_tokens_total"))
        return states

    def test_S039_cancels_leave_nothing_and_touch_nobody(self):
        body = {"prompt": [2, 43, 80], "max_tokens": 100, "temperature": 0, "ignore_eos": True}
        expected = self.server.post(COMPLETE, body).json()["choices"][0]["text"]
        threads = self.run_threads(6, LEAVING, lambda: len(self.clients) < CANCELS)
        others = 1
        while any(thread.is_alive() for thread in threads):
            self.assertEqual(self.server.post(COMPLETE, body).json()["choices"][0]["text"], expected)
            others += 1
        self.assert_nothing_is_held()
        states = self.assert_ledger_agrees(others)
        self.assertGreater(states["cancelled"], CANCELS / 2)
        print(json.dumps({"left": len(self.clients), "beside": others, **states}))

    def warm_up(self):
        """Fills the KV cache and the buffers of every slot."""
        for number in range(6):
            prompt = [5 + (i * 7 + number * 31) % 500 for i in range(2 * LONGEST if not IS_SMALL else LONGEST)]
            reply = self.server.post(COMPLETE, {"prompt": prompt, "n": 4, "max_tokens": 4, "logprobs": 5, "top_p": 0.9,
                                                "ignore_eos": True})
            client = Client(None)
            client.see(reply.json()["usage"], reply.json()["id"])
            self.clients.append((self.warm_up, client))

    def test_mixed_load_keeps_memory_and_books(self):
        self.warm_up()
        end = time.monotonic() + SECONDS
        memory = []
        threads = self.run_threads(8, KINDS, lambda: time.monotonic() < end)
        while any(thread.is_alive() for thread in threads):
            time.sleep(min(1, SECONDS / 20))
            memory.append(self.server.memory_kib())
        self.assert_nothing_is_held()
        states = self.assert_ledger_agrees()
        refused = sum(kind is ask_what_is_refused for kind, _ in self.clients)
        early, late = max(memory[:len(memory) // 2]), max(memory[-max(len(memory) // 5, 1):])
        print(json.dumps({"clients": len(self.clients), "refused": refused, **states, "rss_kib": [early, late],
                          "growth": round(late / early - 1, 4)}))
        if SECONDS >= 120:
            self.assertLess(late / early, 1.02)


if __name__ == "__main__":
    main()
