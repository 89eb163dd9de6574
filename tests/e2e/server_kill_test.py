# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of 50 streams: what the ledger holds at the next start."""

import signal
import sqlite3

from pawl_testing import main
from server_testing import GEMMA, ServerTest, Stream

STREAMS = 50
SHORT = 10  # so many are over before the others have begun


class Killed(ServerTest):
    def test_no_row_is_lost_and_none_is_double(self):
        ledger = self.home / "usage.db"
        server = self.serve("--ledger", ledger, "--parallel", STREAMS, "--kv-positions", 256 * STREAMS,
                            model=GEMMA)
        body = {"prompt": [5], "ignore_eos": True, "temperature": 0, "stream": True}
        over = [server.post("/v1/completions", {**body, "stream": False, "max_tokens": 5}).json()["id"]
                for _ in range(SHORT)]
        self.wait_for(lambda: server.metric("pawl_ledger_rows_waiting") == 0)
        sent = [server.send("/v1/completions", {**body, "max_tokens": 250}) for _ in range(STREAMS)]
        streams = [Stream(sock) for sock in sent]
        ids = {next(stream.objects())["id"] for stream in streams}
        self.assertEqual(len(ids), STREAMS)
        server.process.send_signal(signal.SIGKILL)
        self.assertEqual(server.process.wait(10), -signal.SIGKILL)
        for stream in streams:
            stream.close()

        again = self.serve("--ledger", ledger, model=GEMMA)
        for request in [*ids, *over]:
            state = again.get(f"/v1/requests/{request}").json()["state"]
            if request in over:
                self.assertEqual(state, "length")
            else:
                self.assertIn(state, ("interrupted", "length"))
        self.assertEqual(again.post("/v1/completions", {**body, "stream": False, "max_tokens": 5}).status, 200)
        self.assertEqual(again.stop(), 0)

        file = sqlite3.connect(ledger)
        self.assertEqual(file.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        rows = file.execute("SELECT id, state FROM requests").fetchall()
        self.assertEqual(len(rows), STREAMS + SHORT + 1)
        self.assertEqual(len({row[0] for row in rows}), len(rows))
        self.assertLessEqual(ids | set(over), {row[0] for row in rows})
        self.assertIn("interrupted", {row[1] for row in rows}, "all were over before the kill")
        file.close()


if __name__ == "__main__":
    main()
