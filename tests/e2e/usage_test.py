# SPDX-License-Identifier: Apache-2.0
"""pawl usage: sums and lists of a ledger as version 1 writes it, also while somebody else writes it."""

import csv
import io
import json
import sqlite3

import pawl_testing

# The file's format, for as long as files of version 1 exist. The application id is the bytes "pawl".
SCHEMA = """
PRAGMA journal_mode=WAL;
CREATE TABLE servers(number INTEGER PRIMARY KEY AUTOINCREMENT, started_ms INTEGER NOT NULL);
CREATE TABLE requests(
  id TEXT NOT NULL PRIMARY KEY, received_ms INTEGER NOT NULL, key_name TEXT NOT NULL, model TEXT NOT NULL,
  route TEXT NOT NULL, trace_parent TEXT NOT NULL, is_stream INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, computed_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
  forced_tokens INTEGER NOT NULL, accepted_draft_tokens INTEGER NOT NULL, delivered_tokens INTEGER NOT NULL,
  forward_passes INTEGER NOT NULL, preemptions INTEGER NOT NULL, queue_ms REAL, prefill_ms REAL, decode_ms REAL,
  total_ms REAL, state TEXT NOT NULL, cause TEXT NOT NULL, error TEXT NOT NULL, http_status INTEGER NOT NULL,
  server INTEGER NOT NULL REFERENCES servers(number));
CREATE INDEX requests_received ON requests(received_ms);
CREATE INDEX requests_running ON requests(server) WHERE state = 'running';
PRAGMA application_id=0x7061776c;
PRAGMA user_version=1;
INSERT INTO servers(started_ms) VALUES(0);
"""
NOV_28 = 1795824000000  # 2026-11-28T00:00:00Z
HOUR = 3_600_000


class UsageTest(pawl_testing.PawlTest):
    def setUp(self):
        super().setUp()
        self.ledger = self.home / "usage.db"

    def write(self, *rows):
        """rows: (id, ms, key, state, cause, completion, delivered). The connection stays open, as a server's does."""
        database = sqlite3.connect(self.ledger, isolation_level=None)
        self.addCleanup(database.close)
        database.executescript(SCHEMA)
        self.add(database, *rows)
        return database

    def add(self, database, *rows):
        for name, ms, key, state, cause, completion, delivered in rows:
            database.execute(
                "INSERT INTO requests VALUES(?,?,?,'gemma','/v1/completions','',1,100,60,62,?,0,0,?,?,0,0.5,20.25,NULL,"
                "30,?,?,'',200,1)", (name, ms, key, completion, delivered, completion + 1, state, cause))

    def standard(self):
        return self.write(("r1", NOV_28, "alice", "stop", "", 10, 10),
                          ("r2", NOV_28 + 23 * HOUR, "bob, \"the\" builder", "length", "", 20, 20),
                          ("r3", NOV_28 + 24 * HOUR, "alice", "cancelled", "client_closed", 1005, 20))

    def sums(self, *arguments):
        result = self.pawl("usage", "--json", *arguments)
        self.assert_done(result)
        return json.loads(result.stdout)

    def test_sums_by_day_and_model_unless_told(self):
        self.standard()
        document = self.sums()
        self.assertEqual(document["by"], ["day", "model"])
        self.assertEqual([(g["day"], g["model"], g["requests"], g["completion_tokens"]) for g in document["groups"]],
                         [("2026-11-28", "gemma", 2, 30), ("2026-11-29", "gemma", 1, 1005)])
        total = document["total"]
        self.assertEqual((total["requests"], total["prompt_tokens"], total["cached_tokens"], total["delivered_tokens"],
                          total["prefill_ms"], total["decode_ms"]), (3, 300, 180, 50, 60.75, 0))

    def test_sums_by_key_and_reason_within_a_span(self):
        self.standard()
        groups = self.sums("--by", "reason,key")["groups"]
        self.assertEqual([(g["reason"], g["key"]) for g in groups],
                         [("cancelled:client_closed", "alice"), ("length", 'bob, "the" builder'), ("stop", "alice")])
        self.assertEqual(self.sums("--since", "2026-11-29")["total"]["requests"], 1)
        self.assertEqual(self.sums("--until", "2026-11-28")["total"]["requests"], 2)
        self.assertEqual(self.sums("--since", "2026-11-28T00:00:01", "--until", "2026-11-29T00:00")["total"]["requests"], 1)
        self.assertEqual(self.sums("--since", "2030-01-01"), {**self.sums("--since", "2030-01-01"), "groups": []})

    def test_table(self):
        self.standard()
        result = self.pawl("usage", "--by", "key")
        self.assert_done(result)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0].split()[:4], ["key", "requests", "prompt", "cached"])
        self.assertEqual(lines[2].split()[:6], ["alice", "2", "200", "120", "124", "1,015"])
        self.assertEqual(lines[-1].split()[:2], ["total", "3"])
        self.assertEqual(len({len(line) for line in lines}), 1, result.stdout)

    def test_csv_reads_back(self):
        self.standard()
        result = self.pawl("usage", "--csv", "--by", "key")
        self.assert_done(result)
        rows = list(csv.DictReader(io.StringIO(result.stdout, newline="")))
        self.assertEqual([(row["key"], row["requests"], row["completion_tokens"], row["prefill_ms"]) for row in rows],
                         [("alice", "2", "1015", "40.500"), ('bob, "the" builder', "1", "20", "20.250")])
        listed = list(csv.DictReader(io.StringIO(self.pawl("usage", "--csv", "--last", "5").stdout, newline="")))
        self.assertEqual([row["id"] for row in listed], ["r1", "r2", "r3"])
        self.assertEqual(listed[1]["key"], 'bob, "the" builder')
        self.assertEqual(listed[2]["decode_ms"], "")  # no value is not 0

    def test_last_lists_requests(self):
        self.standard()
        requests = self.sums("--last", "2")["requests"]
        self.assertEqual([r["id"] for r in requests], ["r2", "r3"])
        self.assertEqual((requests[1]["state"], requests[1]["cause"], requests[1]["completion_tokens"],
                          requests[1]["delivered_tokens"], requests[1]["decode_ms"]),
                         ("cancelled", "client_closed", 1005, 20, None))
        table = self.pawl("usage", "--last", "1").stdout
        self.assertIn("2026-11-29 00:00:00  r3  alice  gemma  cancelled:client_closed", table)

    def test_reads_while_somebody_writes(self):
        server = self.standard()
        server.execute("BEGIN IMMEDIATE")
        self.add(server, ("r4", NOV_28, "alice", "running", "", 0, 0))
        self.assertEqual(self.sums()["total"]["requests"], 3)
        server.execute("COMMIT")
        self.assertEqual(self.sums()["total"]["requests"], 4)

    def test_before_anything_was_recorded(self):
        result = self.pawl("usage", "--json")
        self.assert_done(result)
        self.assertIn(str(self.ledger), result.stderr)
        self.assertEqual(json.loads(result.stdout)["groups"], [])
        self.assertFalse(self.ledger.exists())
        self.assertEqual(json.loads(self.pawl("usage", "--json", "--last", "3").stdout)["requests"], [])

    def test_another_file(self):
        self.standard().close()
        moved = self.ledger.rename(self.home / "elsewhere")
        self.assertEqual(self.sums("--ledger", moved)["ledger"], str(moved))
        self.assert_error(self.pawl("usage", "--ledger", self.ledger), 3, "no such file", str(self.ledger))
        moved.write_bytes(b"words " * 1000)
        self.assert_error(self.pawl("usage", "--ledger", moved), 2, "not a database", str(moved))

    def test_wrong_use(self):
        self.standard()
        self.assert_error(self.pawl("usage", "--by", "day,weather"), 2, "weather")
        self.assert_error(self.pawl("usage", "--by", ""), 2, "--by")
        self.assert_error(self.pawl("usage", "--since", "yesterday"), 2, "--since", "yesterday")
        self.assert_error(self.pawl("usage", "--last", "0"), 2, "--last")
        self.assert_error(self.pawl("usage", "--csv", "--json"), 2, "--csv")
        self.assert_error(self.pawl("usage", "--last", "3", "--by", "day"), 2, "--by")


if __name__ == "__main__":
    pawl_testing.main()
