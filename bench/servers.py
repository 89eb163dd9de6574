#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `pawl serve` with llama.cpp's server: same model, same client, same machine, taking turns.

Each server is started alone, warmed up and asked for streams: one at a time, four and eight at once, and one
and eight at once beside a process that keeps a core busy. Every prompt has a head of its own, so that no
prefix cache helps. Shown are output tokens per second of all streams together, the time to the first token and
the gaps between tokens, as the client sees them; a ratio is formed within a round. Streams of pawl, one at a
time, also take turns with `pawl bench` at the same depth: what the way through the server costs a token.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
READY_S = 120


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def busy_process():
    """A process that keeps one core busy."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


class Stream:
    """One streamed completion on a socket of its own; stamps are taken when bytes arrive."""

    def __init__(self, port, prompt, tokens):
        body = json.dumps({"prompt": prompt, "max_tokens": tokens, "temperature": 0, "stream": True,
                           "ignore_eos": True}).encode()
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = (f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode()
        self.sent = time.monotonic()
        self.socket.sendall(head + body)
        self.socket.setblocking(False)
        self.reads = []  # (stamp, bytes)

    def stamps(self):
        """When each event with a token came; a read of several gives each of them its stamp."""
        stamps, rest = [], b""
        for stamp, piece in self.reads:
            rest += piece
            *events, rest = rest.split(b"\n\n")
            for event in events:
                data = event[event.find(b"data: ") + 6:]
                if event.find(b"data: ") >= 0 and data.startswith(b"{") and b"\"choices\":[{" in data:
                    choice = json.loads(data)["choices"][0]
                    if choice.get("finish_reason") is None:
                        stamps.append(stamp)
        return stamps


def run_streams(port, prompts, tokens):
    """All at once, on one thread; parsed when all of them are over."""
    streams = [Stream(port, prompt, tokens) for prompt in prompts]
    selector = selectors.DefaultSelector()
    for stream in streams:
        selector.register(stream.socket, selectors.EVENT_READ, stream)
    left = len(streams)
    while left:
        for key, _ in selector.select(300):
            stream = key.data
            piece = stream.socket.recv(1 << 16)
            if piece:
                stream.reads.append((time.monotonic(), piece))
            else:
                selector.unregister(stream.socket)
                stream.socket.close()
                left -= 1
    return streams


def summarize(streams):
    first = min(stream.sent for stream in streams)
    stamps = [stream.stamps() for stream in streams]
    if not all(stamps):
        raise peers.PeerError("a stream ended without a token: " + repr(streams[0].reads[:1])[:200])
    gaps = sorted(b - a for one in stamps for a, b in zip(one, one[1:]))
    return {"rate": sum(map(len, stamps)) / (max(one[-1] for one in stamps) - first),
            "decode_rate": statistics.median((len(one) - 1) / (one[-1] - one[0]) for one in stamps),
            "ttft": statistics.median(one[0] - stream.sent for one, stream in zip(stamps, streams)),
            "gap": statistics.median(gaps), "gap_p99": gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))],
            "gap_max": gaps[-1]}


class Server:
    def __init__(self, name, command):
        self.name, self.command = name, command

    @contextlib.contextmanager
    def running(self):
        port = free_port()
        command = [str(word).replace("PORT", str(port)) for word in self.command]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                deadline = time.monotonic() + READY_S
                while True:
                    try:
                        run_streams(port, ["warm up"], 4)[0].stamps()[0]
                        break
                    except (OSError, IndexError):
                        if process.poll() is not None or time.monotonic() > deadline:
                            raise peers.PeerError(f"{self.name} does not answer") from None
                        time.sleep(0.2)
                yield port
            finally:
                process.terminate()


def prompts(rng, count, words):
    return [" ".join([f"{rng.randrange(10**6)}:"] + rng.choices(peers.WORDS, k=words)) for _ in range(count)]


CASES = {  # name → (streams at once, beside a busy process)
    "one": (1, False), "four": (4, False), "eight": (8, False), "one beside": (1, True), "eight beside": (8, True)}


def beside_bench(port, path, arguments, rng):
    """Tokens per second after the first one, one stream at a time ÷ `pawl bench --greedy`: three streams and a run of it in
    turns. And the shortest time of a pass over the weights."""
    bench = [arguments.pawl, "bench", "-m", path, "-t", str(arguments.threads), "-p", "0", "-d", str(arguments.words),
             "-n", str(arguments.tokens), "-b", "1", "-r", "3", "--greedy", "--json"]
    ratios, passes = [], []
    for _ in range(arguments.turns):
        stream = statistics.median(
            summarize(run_streams(port, prompts(rng, 1, arguments.words), arguments.tokens))["decode_rate"] for _ in range(3))
        row = json.loads(subprocess.run(bench, check=True, capture_output=True).stdout)["rows"][0]
        ratios.append(stream / row["tok_s"]["median"])
        passes.append(row["bytes_per_token"] / 1e9 / row["read_GBps"])
    return {"ratio": statistics.median(ratios), "min": min(ratios), "max": max(ratios),
            "pass": statistics.median(passes)}


def measure(server, path, arguments, rng):
    results = {}
    with server.running() as port:
        if server.name == "pawl":
            results["bench"] = beside_bench(port, path, arguments, rng)
        for name, (count, is_beside) in CASES.items():
            asked = prompts(rng, count, arguments.words)
            with busy_process() if is_beside else contextlib.nullcontext():
                results[name] = summarize(run_streams(port, asked, arguments.tokens))
        if arguments.long_prompt:
            results["long"] = beside_long_prompt(port, arguments, rng)
    return results


def beside_long_prompt(port, arguments, rng):
    """Four streams, and a prompt of thousands of tokens that comes while they run."""
    done = []
    worker = threading.Thread(target=lambda: done.extend(
        run_streams(port, prompts(rng, 4, 16), arguments.long_tokens)))
    worker.start()
    time.sleep(1.0)
    late = run_streams(port, prompts(rng, 1, arguments.long_prompt), 4)[0]
    worker.join()
    begin, end = late.sent, late.stamps()[0]
    stamps = [stream.stamps() for stream in done]
    gaps = sorted(b - a for one in stamps for a, b in zip(one, one[1:]))
    during = sorted(b - a for one in stamps for a, b in zip(one, one[1:]) if begin <= a <= end)
    if not during:
        raise peers.PeerError("no token came while the long prompt was computed: --long-tokens is too small")
    return {"gap": statistics.median(gaps), "gap_p99": gaps[int(0.99 * len(gaps))],
            "during": statistics.median(during), "during_p99": during[int(0.99 * len(during))],
            "ttft": end - begin}


def show(results, names):
    head = f"{'case':<14}{'server':<12}{'tokens/s':>10}{'TTFT ms':>10}{'gap ms':>9}{'p99 ms':>9}{'longest':>9}"
    print(head + "\n" + "-" * len(head))
    middle = lambda name, case, key: statistics.median(one[case][key] for one in results[name])
    for case in CASES:
        for name in names:
            numbers = {key: middle(name, case, key) for key in ("rate", "ttft", "gap", "gap_p99", "gap_max")}
            print(f"{case:<14}{name:<12}{numbers['rate']:>10.1f}{1e3 * numbers['ttft']:>10.1f}"
                  f"{1e3 * numbers['gap']:>9.1f}{1e3 * numbers['gap_p99']:>9.1f}{1e3 * numbers['gap_max']:>9.1f}")
    for name in names:
        for one in results[name]:
            if "long" in one:
                long = {key: 1e3 * value for key, value in one["long"].items()}
                print(f"4 streams beside a long prompt, {name}: gap {long['gap']:.1f} ms, p99 {long['gap_p99']:.1f} ms "
                      f"({long['gap_p99'] / long['gap']:.2f} times it), while it was computed {long['during']:.1f} ms, "
                      f"its TTFT {long['ttft']:.0f} ms")


def verdicts(results, names):
    """pawl against the goals that hold on the machine this project is measured on."""
    rounds = list(zip(results[names[0]], results[names[-1]]))
    pick = lambda key: statistics.median(key(mine, peer) for mine, peer in rounds)
    yield "one at a time ÷ pawl bench", pick(lambda a, _: a["bench"]["ratio"]), ">=", 0.97
    yield "eight at once, tokens/s ÷ peer's", pick(lambda a, b: a["eight"]["rate"] / b["eight"]["rate"]), ">=", 3.0
    yield "eight at once, p99 gap ÷ peer's", pick(lambda a, b: a["eight"]["gap_p99"] / b["eight"]["gap_p99"]), "<=", 0.1
    yield "four at once, TTFT ÷ peer's", pick(lambda a, b: a["four"]["ttft"] / b["four"]["ttft"]), "<=", 0.5
    yield "one beside a busy process ÷ alone", pick(lambda a, _: a["one beside"]["rate"] / a["one"]["rate"]), ">=", 0.6
    yield ("longest gap beside a busy process ÷ median",
           pick(lambda a, _: a["one beside"]["gap_max"] / a["one beside"]["gap"]), "<=", 10)
    if "long" in results[names[0]][0]:
        yield ("beside a 4,000-token prompt, p99 gap ÷ median",
               pick(lambda a, _: a["long"]["gap_p99"] / a["long"]["gap"]), "<=", 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default="gemma3-270m", help="a catalogue name or a .gguf file")
    parser.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=100, help="of a prompt (default 100, about 107 tokens)")
    parser.add_argument("--tokens", type=int, default=64, help="of an answer (default 64)")
    parser.add_argument("--turns", type=int, default=8, help="of a stream and pawl bench, in a round (default 8)")
    parser.add_argument("--long-prompt", type=int, default=4000, metavar="WORDS",
                        help="of the prompt that comes beside four streams (default 4000; 0: leaves that out)")
    parser.add_argument("--long-tokens", type=int, default=400, help="of those streams (default 400)")
    parser.add_argument("--pawl", default=str(ROOT / "build" / "release" / "pawl"))
    parser.add_argument("--venv", default=str(peers.HOME / "peers" / "venv"))
    parser.add_argument("--alone", action="store_true", help="pawl only")
    parser.add_argument("--json", metavar="FILE", help="writes all numbers")
    arguments = parser.parse_args()
    path = arguments.model if arguments.model.endswith(".gguf") else peers.HOME / "models" / f"{arguments.model}.gguf"
    context = arguments.long_prompt + 1500
    servers = [Server("pawl", [arguments.pawl, "serve", "-m", path, "-t", arguments.threads, "--port", "PORT", "--context",
                               context, "--parallel", 8, "--no-ledger", "--kv-positions", 2 * context])]
    if not arguments.alone:
        llama = peers.Llama(peers.Environment(arguments.venv), 1)
        servers.append(Server("llama.cpp", [llama.folder / "llama-server", "-m", path, "-t", arguments.threads, "--port",
                                            "PORT", "-np", 8, "-c", 8 * context, "--no-webui"]))
    results = {server.name: [] for server in servers}
    for number in range(arguments.rounds):
        for server in servers if number % 2 == 0 else servers[::-1]:
            print(f"round {number + 1} of {arguments.rounds}: {server.name}", file=sys.stderr, flush=True)
            results[server.name].append(measure(server, path, arguments, random.Random(number)))
    names = [server.name for server in servers]
    show(results, names)
    failed = False
    for what, value, relation, goal in () if arguments.alone else verdicts(results, names):
        holds = value >= goal if relation == ">=" else value <= goal
        failed |= not holds
        print(f"{'holds ' if holds else 'failed'} {what}: {value:.2f} ({relation} {goal:g})")
    if not arguments.alone:
        tenth = statistics.median(one["eight"]["gap_p99"] for one in results[names[-1]]) / 10
        one_pass = statistics.median(one["bench"]["pass"] for one in results[names[0]])
        print(f"No gap can be shorter than a pass over the weights: {1e3 * one_pass:.1f} ms at the speed this memory "
              f"reads. A tenth of the peer's p99 gap is {1e3 * tenth:.1f} ms.")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except peers.PeerError as failure:
        sys.exit(f"servers: {failure}")
