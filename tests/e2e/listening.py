# SPDX-License-Identifier: Apache-2.0
"""A small server for a test: it listens on a port of its own and answers each connection on a thread."""

import json
import re
import socket
import threading


class ListeningServer:
    """A class of it gives `answer(connection)`. `worker` is for those that compute for one at a time."""

    def __init__(self, scheme="http"):
        self.worker = threading.Lock()
        self.heads = []  # of all requests that were read
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def read_chat(self, connection):
        """The body of a request for a chat; None when the peer left, or was told that nothing else is here."""
        received = b""
        while b"\r\n\r\n" not in received:
            piece = connection.recv(65536)
            if not piece:
                return None
            received += piece
        head, body = received.split(b"\r\n\r\n", 1)
        self.heads.append(head.decode())
        if not head.startswith(b"POST /v1/chat"):
            connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            return None
        length = int(re.search(rb"content-length: *(\d+)", head.lower()).group(1))
        while len(body) < length:
            body += connection.recv(65536)
        return body


class ChatServer(ListeningServer):
    """Computes one chat at a time. A class of it gives `stream(connection, body)`."""

    def answer(self, connection):
        with connection:
            if body := self.read_chat(connection):
                with self.worker:
                    self.stream(connection, json.loads(body))
