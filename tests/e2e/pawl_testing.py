# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end scripts share: the program under test, a folder of its own for each test, and small
foreign inputs made by hand (a GGUF file, wheels, an HTTP server that follows a script)."""

import hashlib
import http.server
import io
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

PROGRAM = os.environ["PAWL"]
REAL_HOME = pathlib.Path(os.environ.get("PAWL_HOME") or pathlib.Path.home() / ".cache" / "pawl")
DEFAULT_MODEL = REAL_HOME / "models" / "gemma3-270m.gguf"


def needs_default_model(test):
    return unittest.skipUnless(DEFAULT_MODEL.exists(), f"{DEFAULT_MODEL} is not here")(test)


# Clients as people install them, put here by scripts/test.
CLIENTS = pathlib.Path(__file__).resolve().parents[2] / "build" / "clients"
CLIENT_PYTHON = pathlib.Path(os.environ.get("PAWL_TEST_PYTHON") or CLIENTS / "python" / "bin" / "python3")
CLIENT_NODE = pathlib.Path(os.environ.get("PAWL_TEST_NODE") or CLIENTS / "node")


def needs_python_clients(test):
    """Run scripts with CLIENT_PYTHON: it has the packages of requirements.txt."""
    return unittest.skipUnless(CLIENT_PYTHON.exists(), f"{CLIENT_PYTHON} is not here (./scripts/test makes it)")(test)


def needs_node_client(test):
    """Run `node` with CLIENT_NODE as its folder: it has the node_modules of tests/e2e/node."""
    is_here = shutil.which("node") and (CLIENT_NODE / "node_modules" / "openai").exists()
    return unittest.skipUnless(is_here, f"{CLIENT_NODE}/node_modules is not here (./scripts/test makes it)")(test)


class PawlTest(unittest.TestCase):
    """Each test has a model home of its own, in self.home."""

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="pawl-e2e-"))
        self.addCleanup(shutil.rmtree, self.home, True)
        self.models = self.home / "models"

    def environment(self, **extra):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PAWL")}
        return {**environment, "PAWL_HOME": str(self.home), **{k: str(v) for k, v in extra.items()}}

    def pawl(self, *arguments, folder=None, **extra):
        return subprocess.run([PROGRAM, *map(str, arguments)], env=self.environment(**extra), text=True, cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)

    def start(self, *arguments, **extra):
        return subprocess.Popen([PROGRAM, *map(str, arguments)], env=self.environment(**extra), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def assert_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)

    def assert_error(self, result, status, *words):
        """One line on stderr at the end, of the agreed form; nothing on stdout."""
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertEqual(result.stdout, "")
        errors = [line for line in result.stderr.splitlines() if line.startswith("pawl: error: ")]
        self.assertEqual(len(errors), 1, result.stderr)
        self.assertEqual(result.stderr.splitlines()[-1], errors[0])
        for word in words:
            self.assertIn(word, errors[0])

    def assert_no_model(self, name):
        self.assertFalse((self.models / f"{name}.gguf").exists())
        # Neither temporary files: only locks, and .part files of broken transfers, may stay.
        left = [p.name for p in self.models.iterdir() if p.suffix not in (".lock", ".part")]
        self.assertEqual(left, [])


def tiny_gguf():
    """A valid GGUF file of one tensor, by the format's description."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 2)
    head += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    head += text("general.name") + struct.pack("<I", 8) + text("tiny")
    head += text("output.weight") + struct.pack("<I", 2) + struct.pack("<QQ", 32, 4) + struct.pack("<IQ", 0, 0)
    head += b"\0" * (-len(head) % 32)
    return head + struct.pack("<128f", *range(128))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def wheel(member, data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, data)
    return buffer.getvalue()


class ScriptedServer:
    """Serves one file. What it does wrong is set by attributes; what it was asked is in `ranges`."""

    def __init__(self, data):
        self.data = data
        self.cut_at = None        # closes after so many bytes of an answer
        self.knows_ranges = True
        self.status = None        # answers with this status and no file
        self.hold = None          # an Event: waits for it after the first half
        self.ranges = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/some/model.gguf?x=1"

    def answer(self, request):
        asked = request.headers.get("Range")
        self.ranges.append(asked)
        request.close_connection = True
        if self.status:
            request.send_error(self.status)
            return
        first = 0
        if asked and self.knows_ranges:
            first = int(asked.removeprefix("bytes=").split("-")[0])
            if first >= len(self.data):
                request.send_error(416)
                return
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {first}-{len(self.data) - 1}/{len(self.data)}")
        else:
            request.send_response(200)
        body = self.data[first:]
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        body = body if self.cut_at is None else body[:self.cut_at]
        half = len(body) // 2
        request.wfile.write(body[:half])
        request.wfile.flush()
        if self.hold:
            self.hold.wait(60)
        request.wfile.write(body[half:])

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def main():
    unittest.main(argv=[sys.argv[0], "-v"])
