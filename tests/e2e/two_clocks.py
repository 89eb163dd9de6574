# SPDX-License-Identifier: Apache-2.0
"""A server whose two clocks are known: what commands that measure servers are tested against."""

import json
import time

from listening import ChatServer


class TwoClocks(ChatServer):
    """Raw TCP. A token per word of the prompt and 10 for the template; start-up and tail in plain sleeps."""

    START_S, PROMPT_S, OUTPUT_S = 0.03, 0.001, 0.006

    def __init__(self, buffers=False, context_limit=None):
        self.buffers, self.context_limit = buffers, context_limit
        self.prompts = []
        super().__init__()

    def stream(self, connection, body):
        text, tokens = body["messages"][0]["content"], body["max_tokens"]
        self.prompts.append(text)
        prompt = len(text.split()) + 10
        if self.context_limit:
            prompt = min(prompt, self.context_limit)
        usage = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
        held = []
        is_stream = body.get("stream", False)
        kind = b"text/event-stream" if is_stream else b"application/json"
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nConnection: close\r\n\r\n")
        time.sleep(self.START_S + self.PROMPT_S * prompt)
        for i in range(tokens):
            if i > 0:
                time.sleep(self.OUTPUT_S)
            held.append({"choices": [{"index": 0, "delta": {"content": f"w{i} "}, "finish_reason": None}]})
            if is_stream and not self.buffers:
                connection.sendall(b"data: " + json.dumps(held.pop()).encode() + b"\n\n")
        if not is_stream:
            whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "w " * tokens},
                                  "finish_reason": "length"}], "usage": usage}
            connection.sendall(json.dumps(whole).encode())
            return
        held.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
        held.append({"choices": [], "usage": usage})
        connection.sendall(b"".join(b"data: " + json.dumps(part).encode() + b"\n\n" for part in held) + b"data: [DONE]\n\n")
