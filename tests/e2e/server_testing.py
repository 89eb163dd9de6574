# SPDX-License-Identifier: Apache-2.0
"""What the server's scripts share: a running `pawl serve`, and HTTP by raw sockets, so that bytes, resets and half
requests are seen as they are."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

from pawl_testing import DEFAULT_MODEL, PROGRAM, PawlTest

TINY = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tiny"
GEMMA = TINY / "gemma3.gguf"
CHAT_MODEL = TINY / "qwen3.gguf"  # has a ChatML template


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        def refuse(word):
            raise AssertionError(f"{word} is no JSON")
        return json.loads(self.body, parse_constant=refuse)

    @property
    def error(self):
        return self.json()["error"]


class Stream:
    """A reply that comes in pieces. `events()` gives the data of each event, `raw` all bytes so far."""

    def __init__(self, sock):
        self.sock = sock
        self.file = sock.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline()) not in (b"\r\n", b""):
            name, value = line.decode().rstrip().split(": ", 1)
            self.headers[name.lower()] = value
        self.raw = b""
        self.is_whole = False  # the last chunk came

    def chunks(self):
        while True:
            size = self.file.readline()
            if not size:
                return
            data = self.file.read(int(size, 16))
            self.file.readline()
            if not data:
                self.is_whole = True
                return
            self.raw += data
            yield data

    def events(self):
        waiting = b""
        for data in self.chunks():
            waiting += data
            while b"\n\n" in waiting:
                event, waiting = waiting.split(b"\n\n", 1)
                for line in event.split(b"\n"):
                    if line.startswith(b"data: "):
                        yield line[6:].decode()
                    elif not line.startswith(b":"):
                        raise AssertionError(f"neither data nor a comment: {line}")

    def objects(self):
        """The JSON of all events; [DONE] must be the last."""
        self.is_done = False
        for data in self.events():
            assert not self.is_done, "something came after [DONE]"
            if data == "[DONE]":
                self.is_done = True
            else:
                yield json.loads(data)

    def reset(self):
        """Ends the connection with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        self.file.close()
        self.sock.close()


class Server:
    patience_s = 120  # of a client, for a reply

    def __init__(self, test, *arguments, model=GEMMA, wait=True, **environment):
        self.log = []
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "-m", str(model), "--port", "0", *map(str, arguments)],
            env=test.environment(**environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.end)
        self.port = None
        self.listens = threading.Event()
        threading.Thread(target=self.read_log, daemon=True).start()
        assert self.listens.wait(60), self.log
        if wait:
            self.ready_line = self.process.stdout.readline()
            assert "is ready at" in self.ready_line, (self.ready_line, self.log)

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line)
            if (found := re.search(r"listening on http://\S+:(\d+)", line)):
                self.port = int(found[1])
                self.listens.set()
        self.listens.set()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self, number=signal.SIGTERM, seconds=30):
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=self.patience_s)

    def request(self, method, path, body=None, headers={}):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience_s)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        reply = Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        connection.close()
        return reply

    def get(self, path, **headers):
        return self.request("GET", path, headers=headers)

    def post(self, path, body, headers={}):
        return self.request("POST", path, body, headers)

    def stream(self, path, body, headers={}):
        return Stream(self.send(path, body, headers))

    def send(self, path, body, headers={}):
        """Sends a request and reads nothing of its reply."""
        data = json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}",
                 *(f"{name}: {value}" for name, value in headers.items())]
        sock = self.connect()
        sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        return sock

    def raw(self, data):
        """Sends bytes and gives all that comes back until the server closes."""
        sock = self.connect()
        sock.sendall(data)
        answer = b""
        while (piece := sock.recv(65536)):
            answer += piece
        sock.close()
        return answer

    def metric(self, name):
        """The sum of a metric's samples, without the labels."""
        total = 0.0
        for line in self.get("/metrics").body.decode().splitlines():
            if re.match(re.escape(name) + r"(\{.*\})? ", line):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def memory_kib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1])


class ServerTest(PawlTest):
    def serve(self, *arguments, **options):
        return Server(self, *arguments, **options)

    def wait_for(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "it did not come true in time")
            time.sleep(0.01)

    def assert_refused(self, reply, status, *words):
        """An OpenAI error object whose message holds the words."""
        self.assertEqual(reply.status, status, reply.body)
        self.assertEqual(reply.headers["content-type"], "application/json")
        self.assertEqual(set(reply.json()), {"error"})
        self.assertEqual(set(reply.error), {"message", "type", "param", "code"})
        for word in words:
            self.assertIn(word, reply.error["message"])
        if 400 <= status < 500 and status not in (429, 499):
            self.assertEqual(reply.error["type"], "invalid_request_error")


__all__ = ["CHAT_MODEL", "DEFAULT_MODEL", "GEMMA", "TINY", "Server", "ServerTest", "unittest"]
