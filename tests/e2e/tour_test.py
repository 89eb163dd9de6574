# SPDX-License-Identifier: Apache-2.0
"""pawl tour: chapters on the real model, what they claim and how they are told."""

import json
import re

import pawl_testing


@pawl_testing.needs_default_model
class TourTest(pawl_testing.PawlTest):
    QUICK = ["--chapter", "logits", "--chapter", "loop"]

    def tour(self, *words):
        return self.pawl("tour", *words, folder=self.home, PAWL_HOME=pawl_testing.REAL_HOME)

    def test_what_depends_on_no_clock_holds_and_is_told_in_a_document_and_a_page(self):
        done = self.tour(*self.QUICK, "--json", "--out", "t.html")
        self.assert_done(done)
        document = json.loads(done.stdout)
        self.assertEqual(document["kind"], "tour")
        rows = {f["row"]: f for chapter in document["chapters"] for f in chapter["findings"]}
        self.assertEqual({row: f["verdict"] for row, f in rows.items()},
                         {row: "holds" for row in ("1a", "1b", "2a", "2b")})
        self.assertEqual(document["holds"], 4)
        for chapter in document["chapters"]:
            self.assertTrue(chapter["closer"].startswith("pawl "), chapter)
        # Figures that others know: the vocabulary of the model, and one pass for each token.
        logits, trace = (chapter["results"][0] for chapter in document["chapters"])
        self.assertEqual(logits["vocabulary"], 262144)
        self.assertEqual(len({setting["logits_digest"] for setting in logits["settings"]}), 1)
        self.assertGreater(len({setting["chosen"] for setting in logits["settings"]}), 1)
        self.assertEqual(sum(p["selected"] is not None for p in trace["passes"]), len(trace["passes"]))
        page = (self.home / "t.html").read_text()
        self.assertNotRegex(page, r"<script[^>]+src|<link|@import")
        self.assertRegex(page, '"kind": ?"tour"')

    def test_the_text_has_each_row_and_the_command_to_look_closer(self):
        done = self.tour(*self.QUICK, "--quiet")
        self.assert_done(done)
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(done.stderr, "")
        for word in ("1a", "1b", "2a", "2b", "✓ holds", "closer  pawl logits", "4 hold", "pawl-tour.html"):
            self.assertIn(word, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        # The commands that it names are commands.
        for command in re.findall(r"closer  (pawl \w+)", done.stdout):
            self.assert_done(self.pawl(command.split()[1], "--help"))

    def test_the_eighth_chapter_bills_an_answer_with_and_without_its_reasoning(self):
        done = self.tour("--chapter", "schema", "--json", "--out", "t.html")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        chapter = json.loads(done.stdout)["chapters"][0]
        self.assertEqual(chapter["number"], 8)
        rows = {f["row"]: f for f in chapter["findings"]}
        self.assertEqual(list(rows), ["8a", "8b", "8c"])
        for row in rows.values():
            print("   ", row["row"], row["verdict"], "-", row["measured"])
            self.assertNotIn("safe", row["measured"])
        # No clock decides this one: greedy answers cannot depend on what comes behind them.
        self.assertEqual(rows["8c"]["verdict"], "holds")
        study = chapter["results"][0]
        self.assertEqual(study["kind"], "schema")
        self.assertEqual({v["name"]: v["outcome"] for v in study["verdicts"]}["complete"], "holds")

    def test_a_chapter_that_is_not_there_is_named(self):
        self.assert_error(self.tour("--chapter", "cooking"), 2, "cooking")


if __name__ == "__main__":
    pawl_testing.main()
