#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures one `pawl serve` with `pawl load`, guidellm and aiperf, in turns, and puts their figures side by side.

guidellm brings 6 GB and aiperf 1.2 GB; each gets an environment of its own in --folder, outside the repository, and
is installed there unless it is there already. All three send one streamed completion at a time, with prompts of the
same number of words that no request had before, and the same number of output tokens. Shown are medians of the time
to the first token and of the time per output token behind it, (last - first) / (tokens - 1) of a request: pawl calls
that tpot, the others inter-token latency. How far each tool is from pawl is formed within a round.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
import venv

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
READY_S = 60
# A tokenizer without downloads for aiperf, which wants one though the server counts: every word is one token.
WORDS_TOKENIZER = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
words = Tokenizer(models.WordLevel({"[UNK]": 0, "[PAD]": 1}, unk_token="[UNK]"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(sys.argv[1])
"""


def installed(folder, package):
    """The environment's programs; installs the package where it is missing."""
    place = folder / package / "bin"
    if not (place / package).exists():
        print(f"installing {package} in {folder}", file=sys.stderr)
        venv.create(folder / package, with_pip=True)
        peers.run([place / "pip", "install", "--quiet", package])
    return place


@contextlib.contextmanager
def serving(program, model, threads):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "serve", "-m", model, "--port", str(port), "--no-ledger", "--offline"]
    command += ["-t", str(threads)] if threads else []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(READY_S * 10):
                with contextlib.suppress(OSError), urllib.request.urlopen(url + "/ready", timeout=1) as answer:
                    if answer.status == 200:
                        break
                time.sleep(0.1)
            else:
                raise peers.PeerError(f"{program}: not ready after {READY_S} s")
            yield url
        finally:
            process.terminate()


class Prompts:
    """Each is given once, to one tool."""

    def __init__(self, words):
        self.words, self.random = words, random.Random(time.time_ns())

    def take(self):
        return " ".join(self.random.choices(peers.WORDS, k=self.words))


def figures(ttft, per_token, count):
    return {"ttft": ttft, "per_token": per_token, "requests": count}


class PawlLoad:
    name = "pawl load"

    def __init__(self, program, options):
        self.program, self.options = program, options

    def version(self):
        return peers.run([self.program, "--version"]).split()[1]

    def measure(self, url, model, _prompts, _round):
        o = self.options
        told = json.loads(peers.run([self.program, "load", "--url", url, "-m", model, "--api", "completions", "-n", o.requests,
                                     "--prompt", o.words, "--output", o.tokens, "--concurrency", 1, "--json"]))
        return figures(told["median_ttft_ms"], told["median_tpot_ms"], told["completed"])


class Guidellm:
    name = "guidellm"

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.bin = installed(folder, "guidellm")

    def version(self):
        return peers.run([self.bin / "guidellm", "--version"]).split()[-1]

    def measure(self, url, model, prompts, round_number):
        data, out = (self.folder / f"guidellm-{round_number}{end}" for end in (".jsonl", ".json"))
        rows = [{"prompt": prompts.take(), "output_tokens_count": self.options.tokens} for _ in range(self.options.requests)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        peers.run([self.bin / "guidellm", "run", "--backend", f"kind=openai_http,target={url},model={model},request_format=/v1/completions",
                   "--profile", "kind=synchronous", "--constraint", f"kind=max_requests,count={self.options.requests}",
                   "--data", f"kind=json_file,path={data}", "--output", f"kind=json,path={out}", "--disable-console"])
        metrics = json.loads(out.read_text())["benchmarks"][0]["metrics"]
        ttft, itl = metrics["time_to_first_token_ms"]["successful"], metrics["inter_token_latency_ms"]["successful"]
        return figures(ttft["median"], itl["median"], ttft["count"])


class Aiperf:
    name = "aiperf"

    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.bin = installed(folder, "aiperf")
        self.tokenizer = folder / "words-tokenizer"
        peers.run([self.bin / "python", "-c", WORDS_TOKENIZER, self.tokenizer])

    def version(self):
        return peers.run([self.bin / "aiperf", "--version"]).strip()

    def measure(self, url, model, prompts, round_number):
        data, out = self.folder / f"aiperf-{round_number}.jsonl", self.folder / f"aiperf-{round_number}"
        rows = [{"text": prompts.take(), "output_length": self.options.tokens} for _ in range(self.options.requests)]
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        peers.run([self.bin / "aiperf", "profile", "-m", model, "-u", url, "--endpoint-type", "completions", "--streaming",
                   "--tokenizer", self.tokenizer, "--input-file", data, "--custom-dataset-type", "single-turn",
                   "--concurrency", 1, "--request-count", self.options.requests, "--use-server-token-count",
                   "--use-legacy-max-tokens", "--extra-inputs", "ignore_eos:true", "--extra-inputs", "temperature:0",
                   "--extra-inputs", f"max_tokens:{self.options.tokens}", "--artifact-dir", out, "--ui", "none"])
        told = json.loads(next(out.rglob("profile_export_aiperf.json")).read_text())
        return figures(told["time_to_first_token"]["p50"], told["inter_token_latency"]["p50"], int(told["request_count"]["avg"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default=ROOT / "build" / "release" / "pawl", type=pathlib.Path)
    parser.add_argument("--folder", required=True, type=pathlib.Path, help="outside the repository; 7 GB are installed there")
    parser.add_argument("-m", "--model", default="gemma3-270m")
    parser.add_argument("-t", "--threads", type=int, help="of the server; default: all CPUs")
    parser.add_argument("--requests", type=int, default=20, help="of each tool in each round")
    parser.add_argument("--words", type=int, default=128, help="of each prompt")
    parser.add_argument("--tokens", type=int, default=32, help="of each answer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="writes what was measured, round by round")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if folder.is_relative_to(ROOT):
        parser.error(f"--folder {folder} lies in the repository")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tools = [PawlLoad(options.pawl, options), Guidellm(folder, options), Aiperf(folder, options)]
        rounds = {tool.name: [] for tool in tools}
        prompts = Prompts(options.words)
        with serving(options.pawl, options.model, options.threads) as url:
            for round_number in range(options.rounds):
                order = tools[round_number % len(tools):] + tools[:round_number % len(tools)]
                for tool in order:
                    rounds[tool.name].append(tool.measure(url, options.model, prompts, round_number))
                    print(f"round {round_number + 1}: {tool.name} {rounds[tool.name][-1]}", file=sys.stderr)
    except peers.PeerError as failure:
        sys.exit(f"crosscheck: {failure}")
    print(f"{options.model}, {options.words} words in, {options.tokens} tokens out, one at a time, {options.rounds} rounds of "
          f"{options.requests}; medians in ms, {os.cpu_count()} CPUs\n")
    print("| tool | first token | beside pawl | per output token | beside pawl |\n| --- | --- | --- | --- | --- |")
    own = rounds[tools[0].name]
    for tool in tools:
        cells = [f"{tool.name} {tool.version()}"]
        for key in ("ttft", "per_token"):
            values = [one[key] for one in rounds[tool.name]]
            # Within a round, so that a machine that slows down does so for all of them.
            apart = statistics.median(one[key] / mine[key] - 1 for one, mine in zip(rounds[tool.name], own))
            cells += [f"{statistics.median(values):.2f}", "" if tool is tools[0] else f"{100 * apart:+.1f} %"]
        print("| " + " | ".join(cells) + " |")
    if options.json:
        options.json.write_text(json.dumps(rounds, indent=1) + "\n")


if __name__ == "__main__":
    main()
