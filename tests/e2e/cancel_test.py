# SPDX-License-Identifier: Apache-2.0
"""pawl cancel against a running pawl serve, and against a server of one worker that goes on when its client leaves."""

import json
import shutil
import ssl
import subprocess
import time

import pawl_testing
from listening import ListeningServer
from server_testing import DEFAULT_MODEL, ServerTest


class StubbornServer(ListeningServer):
    """Raw TCP, one request at a time, a token every few ms; whoever leaves is not noticed."""

    TOKEN_S = 0.005

    def __init__(self, obeys, tls=None):
        self.obeys = obeys
        self.tls = tls
        super().__init__("https" if tls else "http")

    def answer(self, connection):
        if self.tls:
            try:
                connection = self.tls.wrap_socket(connection, server_side=True)
            except OSError:  # the client does not trust us
                return
        with connection:
            if body := self.read_chat(connection):
                with self.worker:
                    self.stream(connection, json.loads(body))

    def stream(self, connection, body):
        is_end_only = "the end only" in body["messages"][0]["content"]
        tokens = body["max_tokens"]
        parts = [{"choices": [{"delta": {"content": f"{'end' if is_end_only else 't'}{i} "}}]} for i in range(tokens)]
        parts.append({"choices": [{"delta": {}, "finish_reason": "length"}]})
        parts.append({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": tokens}})
        self.send(connection, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for part in parts:
            time.sleep(self.TOKEN_S)
            if not self.send(connection, b"data: %s\n\n" % json.dumps(part).encode()) and self.obeys:
                return
        self.send(connection, b"data: [DONE]\n\n")

    @staticmethod
    def send(connection, data):
        try:
            connection.sendall(data)
            return True
        except OSError:
            return False

    def close(self):
        self.listener.close()


class CancelTest(ServerTest):
    def check(self, url, status, *arguments):
        result = self.pawl("cancel", "--url", url, "--json", "--quiet", *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["holds"], status == 0)
        return report, {verdict["name"]: verdict["outcome"] for verdict in report["verdicts"]}

    def test_pawl_itself_is_asked_for_its_record(self):
        if not DEFAULT_MODEL.exists():
            self.skipTest(f"{DEFAULT_MODEL} is not here")
        server = self.serve("--no-ledger", model=DEFAULT_MODEL)
        # A step is some 20 ms here, and a busy machine takes some of them to see that we left.
        report, verdicts = self.check(f"http://127.0.0.1:{server.port}", 0, "--after", "15", "--of", "60", "--step", "6")
        self.assertEqual(report["conditions"]["api"], "completions")  # the model has no chat template
        self.assertEqual(report["decoded_source"], "record")
        self.assertGreaterEqual(report["landed"], 15)
        self.assertGreaterEqual(report["decoded"], report["landed"])
        self.assertEqual(report["saved_tokens"], 60 - report["decoded"])
        self.assertEqual(report["conditions"]["server"], "pawl")
        self.assertTrue(report["begins_alike"])
        routes = {route["name"]: route for route in report["routes"]}
        self.assertEqual(set(routes), {"whole", "direct", "continued"})
        self.assertEqual(routes["whole"]["forward_passes"], 60)
        self.assertEqual(routes["direct"]["forward_passes"], 45)
        self.assertGreaterEqual(routes["continued"]["prompt_tokens"], routes["whole"]["prompt_tokens"] + 14)
        for name in ("left", "stopped", "counts", "usage", "suffix"):
            self.assertEqual(verdicts[name], "holds", report["verdicts"])
        # Asked nothing, it cannot be told: a short request runs beside the others.
        blind, verdicts = self.check(f"http://127.0.0.1:{server.port}", 0, "--api", "completions", "--after", "15",
                                     "--of", "60", "--timing-only")
        self.assertEqual(verdicts["stopped"], "unverified")
        self.assertIsNone(blind["saved_tokens"])
        self.assertEqual(blind["unverified_tokens"], 60 - blind["landed"])

    def test_s045_one_worker_tells_whether_it_went_on(self):
        for obeys in (True, False):
            server = StubbornServer(obeys)
            self.addCleanup(server.close)
            report, verdicts = self.check(server.url, 0 if obeys else 1, "--after", "20", "--of", "200")
            self.assertEqual(report["decoded_source"], "probe")
            self.assertEqual(verdicts["stopped"], "holds" if obeys else "fails", report["verdicts"])
            self.assertEqual(verdicts["suffix"], "holds")

    def test_https_is_trusted_only_with_a_certificate_and_carries_the_key(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not here")
        key, certificate = self.home / "key.pem", self.home / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        server = StubbornServer(True, tls)
        self.addCleanup(server.close)
        self.assert_error(self.pawl("cancel", "--url", server.url, "--quiet"), 3, server.url)
        self.assertEqual(server.heads, [])
        result = self.pawl("cancel", "--url", server.url, "--ca-file", certificate, "--after", "20", "--of", "200",
                           "--header", "X-Team: lab", "--api-key-env", "LAB_KEY", "--json", "--quiet",
                           LAB_KEY="secret")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for head in server.heads:
            self.assertIn("Authorization: Bearer secret\r\n", head + "\r\n")
            self.assertIn("X-Team: lab\r\n", head + "\r\n")
        self.assertNotIn("secret", result.stdout + result.stderr)

    def test_wrong_use_and_nobody_there(self):
        self.assert_error(self.pawl("cancel"), 2, "--url")
        self.assert_error(self.pawl("cancel", "--url", "host"), 2, "--url")
        self.assert_error(self.pawl("cancel", "--url", "http://h", "--after", "9", "--of", "9"), 2, "--after 9")
        self.assert_error(self.pawl("cancel", "--url", "http://h", "--body", "[1]"), 2, "--body")
        self.assert_error(self.pawl("cancel", "--url", "http://h", "--header", "x"), 2, "--header")
        self.assert_error(self.pawl("cancel", "--url", "http://127.0.0.1:1", "--quiet"), 3, "127.0.0.1:1")


if __name__ == "__main__":
    pawl_testing.main()
