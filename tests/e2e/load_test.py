# SPDX-License-Identifier: Apache-2.0
"""pawl load: closed and open loops against a server whose clocks are known, verdicts on limits, the field's keys."""

import json

import pawl_testing
from two_clocks import TwoClocks


class LoadTest(pawl_testing.PawlTest):
    def load(self, server, *words):
        return self.pawl("load", "--url", server.url, "-m", "m", "--prompt", "20", "--output", "4", *words, folder=self.home)

    def test_a_closed_loop_has_the_figures_of_the_field(self):
        server = TwoClocks()
        done = self.load(server, "-n", "6", "--concurrency", "2", "--json", "-o", "l.json", "--records", "l.jsonl", "--report", "l.html")
        self.assert_done(done)
        told = json.loads(done.stdout)
        self.assertEqual(told["kind"], "load")
        self.assertEqual(told["completed"], 6)
        self.assertEqual(told["total_output_tokens"], 24)
        self.assertEqual(told["most_in_flight"], 2)
        self.assertEqual(told["max_concurrency"], 2)
        self.assertEqual(told["distinct_prompts"], 6)
        # One worker of at least 30 ms and 1 ms for each prompt token, then 6 ms for each output token.
        self.assertGreater(told["median_ttft_ms"], 45)
        self.assertGreater(told["median_itl_ms"], 5)
        self.assertGreater(told["mean_e2el_ms"], told["mean_ttft_ms"])
        self.assertEqual(json.loads((self.home / "l.json").read_text())["completed"], 6)
        self.assertEqual(len((self.home / "l.jsonl").read_text().splitlines()), 7)
        self.assertRegex((self.home / "l.html").read_text(), '"kind": ?"load"')
        # The same page from the file.
        self.assert_done(self.pawl("report", "l.json", "-o", "again.html", folder=self.home))
        self.assertRegex((self.home / "again.html").read_text(), '"kind": ?"load"')

    def test_s164_an_open_loop_with_a_cap_tells_what_was_meant_and_what_was_sent(self):
        done = self.load(TwoClocks(), "-n", "12", "--rate", "100", "--even", "--max-in-flight", "2", "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)  # a busy machine may void it
        told = json.loads(done.stdout)
        self.assertEqual(told["completed"], 12)
        self.assertGreater(told["client"]["held_by_cap"], 5)
        # Twelve of 70 ms each, one after the other, meant within 110 ms.
        self.assertGreater(told["scheduled"]["p99_ttft_ms"], told["p99_ttft_ms"] + 300)

    def test_s169_each_limit_has_a_verdict_and_a_missed_one_the_status(self):
        words = ["-n", "4", "--concurrency", "1"]
        done = self.load(TwoClocks(), *words, "--limit", "ttft:p90:20000,tpot:p90:20000", "--goodput", "ttft:20000")
        self.assert_done(done)
        self.assertEqual(done.stdout.count("✓"), 2, done.stdout)
        done = self.load(TwoClocks(), *words, "--limit", "ttft:p90:1,tpot:p90:20000", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([limit["holds"] for limit in json.loads(done.stdout)["limits"]], [False, True])

    def test_s165_a_schedule_is_a_file_of_seconds(self):
        (self.home / "s.txt").write_text("0\n0.2\n0.1\n")
        done = self.load(TwoClocks(), "--schedule", "s.txt", "--json")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(json.loads(done.stdout)["completed"], 3)
        (self.home / "s.txt").write_text("0\nnoon\n")
        self.assert_error(self.load(TwoClocks(), "--schedule", "s.txt"), 2, "noon", "s.txt")

    def test_flags_that_do_not_go_together_are_refused(self):
        for words in (["--concurrency", "2", "--rate", "5"], ["--max-in-flight", "2"], ["--even"], ["--goodput", "ttft"],
                      ["--limit", "ttft:300"]):
            self.assert_error(self.load(TwoClocks(), *words), 2, words[0])


if __name__ == "__main__":
    pawl_testing.main()
