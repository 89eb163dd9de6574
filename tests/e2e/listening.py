# SPDX-License-Identifier: Apache-2.0
"""A small server for a test: it listens on a port of its own and answers each connection on a thread."""

import socket
import threading


class ListeningServer:
    """A class of it gives `answer(connection)`. `worker` is for those that compute for one at a time."""

    def __init__(self, scheme="http"):
        self.worker = threading.Lock()
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
