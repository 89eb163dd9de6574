# SPDX-License-Identifier: Apache-2.0
"""pawl sweep, compare, predict and report against a server whose two clocks are known, honest and behind a buffer."""

import json
import re
import shutil
import socket
import subprocess
import time
import unittest

import pawl_testing
from two_clocks import TwoClocks


class Nginx:
    """The proxy of many deployments, before `url`, in a folder of its own."""

    CONFIGURATION = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {url}; proxy_buffering {buffering};
    proxy_buffers 8 32k; proxy_buffer_size 32k; }} }}
}}
"""

    def __init__(self, test, url, buffering):
        folder = test.home / f"nginx-{buffering}"
        folder.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        text = self.CONFIGURATION.format(folder=folder, port=port, url=url, buffering=buffering)
        (folder / "nginx.conf").write_text(text)
        process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        test.addCleanup(process.wait, 10)
        test.addCleanup(process.terminate)
        self.url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError((folder / "error.log").read_text())


NGINX = shutil.which("nginx") or (shutil.which("nginx", path="/usr/sbin"))


class LatencyTest(pawl_testing.PawlTest):
    SWEEP = ["--outputs", "1,8,32", "--fixed-prompt", "64", "--fixed-output", "8", "--reps", "3"]

    def sweep(self, server, *more, prompts="32,64,128,256"):
        done = self.pawl("sweep", "--url", server.url, "-m", "m", "--prompts", prompts, *self.SWEEP, "--json", *more, folder=self.home)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, json.loads(done.stdout)

    @staticmethod
    def finding(result, name):
        return next(v for v in result["verdicts"] if v["name"] == name)

    def test_the_two_clocks_of_an_honest_server_and_what_follows_from_them(self):
        server = TwoClocks()
        status, result = self.sweep(server, "--report", "report.html")
        print("    honest:", result["void_because"], result["fit"].get("coefficients"))
        self.assertEqual(self.finding(result, "buffering")["finding"], "clear", self.finding(result, "buffering"))
        self.assertEqual(self.finding(result, "cache")["finding"], "clear")
        self.assertEqual(self.finding(result, "prompt cut")["finding"], "clear")
        parts = result["fit"]["coefficients"]
        # A busy machine sleeps longer, never shorter; a wrong fit would be off by a factor.
        self.assertGreater(parts["b_ms"]["value"], 0.7)
        self.assertLess(parts["b_ms"]["value"], 3)
        self.assertGreater(parts["c0_ms"]["value"], 4)
        self.assertLess(parts["c0_ms"]["value"], 20)
        self.assertEqual(status, 1 if result["void_because"] else 0)
        # S-157, S-159: no prompt twice but those of the probe, no warm-up among the measured.
        self.assertEqual(len(server.prompts) - len(set(server.prompts)), 3)
        page = (self.home / "report.html").read_text()
        self.assertNotRegex(page, r"<script[^>]+src|<link|@import")
        # The same command goes on from the records and finds nothing left to send.
        sent = len(server.prompts)
        self.sweep(server)
        self.assertEqual(len(server.prompts), sent + 2)  # what two prompts are long, asked anew
        # From the profile, without the server.
        server.listener.close()
        done = self.pawl("predict", "--a", "64,30", "--b", "64,8", "--profile", "pawl-sweep.json", "--json", folder=self.home)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([rule["slower"] for rule in json.loads(done.stdout)["rules"]], ["a"] * 3)
        done = self.pawl("report", "pawl-sweep.json", "-o", "again.html", folder=self.home)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Chart.js", (self.home / "again.html").read_text())

    def test_a_buffer_on_the_way_voids_the_split(self):
        status, result = self.sweep(TwoClocks(buffers=True))
        self.assertEqual(status, 1)
        self.assertIn("TTFT void", self.finding(result, "buffering")["text"])

    @unittest.skipUnless(NGINX, "nginx is not here")
    def test_nginx_is_found_where_it_buffers_and_cleared_where_it_does_not(self):
        server = TwoClocks()
        for buffering, expected in (("on", "found"), ("off", "clear")):
            (self.home / "pawl-sweep.records.jsonl").unlink(missing_ok=True)
            _, result = self.sweep(Nginx(self, server.url, buffering))
            verdict = self.finding(result, "buffering")
            print(f"    proxy_buffering {buffering}: {verdict['finding']}, {verdict['text']}")
            self.assertEqual(verdict["finding"], expected)

    def test_s162_a_cut_prompt_is_named(self):
        status, result = self.sweep(TwoClocks(context_limit=128), prompts="32,64,96,256,512")
        verdict = self.finding(result, "prompt cut")
        self.assertEqual(verdict["finding"], "found")
        self.assertIn("prompt cut at 128", verdict["text"])
        self.assertTrue(all(point["prompt_asked"] <= 128 for point in result["points"]))

    def test_two_shapes_in_turn(self):
        done = self.pawl("compare", "--url", TwoClocks().url, "-m", "m", "--a", "300,2", "--b", "20,40", "--reps", "5",
                         "--json", folder=self.home)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["a"]["dominated_by"], "start-up")
        self.assertEqual(result["b"]["dominated_by"], "output")
        self.assertAlmostEqual(result["order_turns_at_exchange_rate"], 280 / 38, delta=0.5)

    def test_published_deployments_and_the_fence(self):
        done = self.pawl("predict", "--a", "0,500@70b-a100", "--b", "0,2000@8b-h100", "--json", "--output-length")
        self.assertEqual(done.returncode, 1)  # the rule that was asked for refuses
        length, rate, _ = json.loads(done.stdout)["rules"]
        self.assertEqual(length["state"], "refuses")
        self.assertEqual(len(length["reasons"]), 2)
        self.assertEqual((round(rate["a_ms"]["value"]), round(rate["b_ms"]["value"])), (25000, 22222))
        done = self.pawl("predict", "--a", "20000,50@claim", "--b", "200,2000@claim", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertAlmostEqual(json.loads(done.stdout)["order_turns_at_exchange_rate"], 10.15, delta=0.01)

    def test_wrong_usage_is_told_in_one_line(self):
        for arguments in (["predict", "--a", "1"], ["predict", "--a", "5,5@nowhere", "--b", "5,5"], ["compare", "--a", "1,1"],
                          ["sweep"], ["sweep", "--url", "x", "--prompts", "1,2"], ["report"]):
            done = self.pawl(*arguments, folder=self.home)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("pawl: error: "), done.stderr)


if __name__ == "__main__":
    pawl_testing.main()
