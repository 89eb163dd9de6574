#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares pawl with other engines on this machine: same file, same threads, same shapes, taking turns.

A rate by itself says little on a machine that others use too. So every round measures each line once with
every engine, one right after the other, in an order that turns round from round to round, and a ratio is
formed within the round. Shown are median, minimum and maximum over the rounds, beside the goal.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = "gemma3-270m,qwen2.5-coder-0.5b"

# line → (what the number is, its unit, factor to that unit, whether less is better)
LINES = {
    "prefill": ("prefill 512", "tokens/s", 1, False),
    "decode": ("decode, 1 stream", "tokens/s", 1, False),
    "greedy": ("decode, 1 stream, greedy", "tokens/s", 1, False),
    "deep": ("decode at depth 2,048", "tokens/s", 1, False),
    "deep_greedy": ("decode at depth 2,048, greedy", "tokens/s", 1, False),
    "streams": ("decode, 8 streams together", "tokens/s", 1, False),
    "beside": ("decode beside a busy process", "tokens/s", 1, False),
    "start": ("process start to first token", "ms", 1000, True),
    "memory": ("peak resident memory, 2k context", "MB", 1e-6, True),
}
# Beside a busy process: what is left of the engine's own quiet rate in the same round.
KEPT = "share of its quiet rate kept beside a busy process"

# pawl ÷ llama.cpp; for times and memory the goal is an upper bound.
GOALS = {
    ("gemma3-270m", "prefill"): 2.5, ("gemma3-270m", "decode"): 2.0, ("gemma3-270m", "greedy"): 2.0,
    ("gemma3-270m", "deep"): 2.0, ("gemma3-270m", "deep_greedy"): 2.0,
    ("gemma3-270m", "streams"): 4.0, ("gemma3-270m", "beside"): 2.5, ("gemma3-270m", "start"): 0.33,
    ("gemma3-270m", "memory"): 0.85, ("gemma3-270m", KEPT): 0.70,
    ("qwen2.5-coder-0.5b", "prefill"): 2.0, ("qwen2.5-coder-0.5b", "decode"): 1.7,
    ("qwen2.5-coder-0.5b", "greedy"): 1.7, ("qwen2.5-coder-0.5b", "streams"): 4.0,
    ("qwen2.5-coder-0.5b:Q4_0", "prefill"): 1.7, ("qwen2.5-coder-0.5b:Q4_0", "decode"): 1.05,
    ("qwen2.5-coder-0.5b:Q4_0", "greedy"): 1.05,
    ("qwen2.5-coder-1.5b", "prefill"): 1.5, ("qwen2.5-coder-1.5b", "decode"): 1.1,
    ("qwen2.5-coder-1.5b", "greedy"): 1.1,
}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: python3 bench/against_peers.py --quick --lines prefill,decode\n\n"
               "The first run compiles llama.cpp for this CPU (about ten minutes). Leave the machine alone\n"
               "meanwhile; the load at the start is part of the result's conditions.")
    parser.add_argument("--models", default=MODELS, metavar="LIST",
                        help="catalogue names or .gguf files; NAME:Q4_0 (or another type) is a copy re-quantised by "
                             f"llama-quantize (default {MODELS})")
    parser.add_argument("--lines", default=",".join(LINES), metavar="LIST",
                        help="what to measure (default: all of %(default)s)")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds (default 5; with --quick 2)")
    parser.add_argument("--reps", type=int, metavar="N",
                        help="repetitions within a measurement, the median counts (default 3; with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and tokens: a few minutes per model")
    parser.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="threads of every engine (default: the CPUs this process may use)")
    parser.add_argument("--pawl", default=str(ROOT / "build" / "release" / "pawl"), metavar="PROGRAM",
                        help="the program under test (default build/release/pawl)")
    parser.add_argument("--venv", default=str(peers.HOME / "peers" / "venv"), metavar="DIR",
                        help="virtual environment of the peers, made when missing (default $PAWL_HOME/peers/venv)")
    parser.add_argument("--openvino", action="store_true", help="OpenVINO GenAI as a second peer")
    parser.add_argument("--json", metavar="FILE", help="writes all numbers (default $PAWL_HOME/peers/result.json)",
                        default=str(peers.HOME / "peers" / "result.json"))
    parser.add_argument("--markdown", metavar="FILE", help="writes the table as for docs/performance.md")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 5)
    arguments.reps = arguments.reps or (1 if arguments.quick else 3)
    arguments.lines = arguments.lines.split(",")
    unknown = [line for line in arguments.lines if line not in LINES]
    if unknown:
        parser.error(f"--lines: no line '{unknown[0]}'; there are {', '.join(LINES)}")
    return arguments


def model_file(name, pawl, llama):
    """The file of a catalogue name, of a path, or of NAME:TYPE, fetched or made when it is not there."""
    if name.endswith(".gguf"):
        return pathlib.Path(name)
    name, _, kind = name.partition(":")
    path = peers.HOME / "models" / f"{name}.gguf"
    if not path.exists():
        peers.run([pawl.program, "model", "get", name])
    if not kind:
        return path
    copy = peers.HOME / "peers" / "models" / f"{name}-{kind}.gguf"
    if not copy.exists():
        llama.quantize(path, copy, kind)
    return copy


@contextlib.contextmanager
def busy_process():
    """One process that never waits, as a neighbour."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        time.sleep(0.3)
        try:
            yield
        finally:
            process.kill()


def tell(text, stays=False):
    """Progress on a terminal, where each line is drawn over the one before unless it stays."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="\n" if stays else "", file=sys.stderr, flush=True)
    elif stays:
        print(text, file=sys.stderr, flush=True)


def measure(engine, line, model, threads, tokens):
    """One number, or None where the engine has no such measurement."""
    if line == "prefill":
        return engine.prefill(model, threads, 512)
    if line == "decode":
        return engine.decode(model, threads, tokens, 0)
    if line == "greedy":
        return engine.greedy(model, threads, tokens, 0)
    if line == "deep":
        return engine.decode(model, threads, tokens, 2048)
    if line == "deep_greedy":
        return engine.greedy(model, threads, tokens, 2048)
    if line == "beside":
        with busy_process():
            return engine.decode(model, threads, tokens, 0)
    if line == "streams":
        return engine.streams(model, threads, tokens, 8) if hasattr(engine, "streams") else None
    if line == "start":
        engine.first_token(model, threads)  # brings the file into the page cache
        return statistics.median(engine.first_token(model, threads) for _ in range(3))
    return engine.memory(model, threads) if hasattr(engine, "memory") else None


def measure_all(arguments, engines, files):
    """{model: {line: {engine: [number of each round]}}}; a failed measurement is None, told once."""
    results = {model: {line: {e.name: [] for e in engines} for line in arguments.lines} for model in files}
    tokens = 32 if arguments.quick else 96
    told = set()
    for number in range(arguments.rounds):
        for model, path in files.items():
            for line in arguments.lines:
                for engine in engines if number % 2 == 0 else reversed(engines):
                    tell(f"round {number + 1} of {arguments.rounds}: {model}, {LINES[line][0]}, {engine.name}")
                    try:
                        value = measure(engine, line, path, arguments.threads, tokens)
                    except peers.PeerError as error:
                        value = None
                        if (engine.name, model, line) not in told:
                            tell(f"{model}, {LINES[line][0]}: {error}", stays=True)
                        told.add((engine.name, model, line))
                    results[model][line][engine.name].append(value)
    tell("")
    return results


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratios(ours, theirs):
    return [a / b for a, b in zip(ours, theirs) if a and b]


def summarise(results):
    """One row for each model, line and peer."""
    rows = []
    for model, lines in results.items():
        for line, engines in lines.items():
            label, unit, factor, is_less_better = LINES[line]
            ours = engines["pawl"]
            for peer, theirs in engines.items():
                shares = ratios(ours, theirs)
                if peer == "pawl" or not shares:
                    continue
                goal = GOALS.get((model, line))
                if goal is not None and peer != "llama.cpp":
                    goal = 1.0  # the goals are set against llama.cpp; of any other peer: be ahead
                median = statistics.median(shares)
                rows.append({"model": model, "line": label, "unit": unit, "peer": peer,
                             "pawl": statistics.median(v for v in ours if v) * factor,
                             "other": statistics.median(v for v in theirs if v) * factor,
                             "ratio": spread(shares), "goal": goal, "less_is_better": is_less_better,
                             "reached": None if goal is None else
                             (median <= goal if is_less_better else median >= goal)})
        if "beside" in lines and "decode" in lines:
            kept = {name: ratios(lines["beside"][name], lines["decode"][name]) for name in lines["decode"]}
            if kept["pawl"]:
                goal = GOALS.get((model, KEPT))
                for peer in [p for p in kept if p != "pawl" and kept[p]]:
                    rows.append({"model": model, "line": KEPT, "unit": "%", "peer": peer,
                                 "pawl": 100 * statistics.median(kept["pawl"]),
                                 "other": 100 * statistics.median(kept[peer]),
                                 "ratio": spread(kept["pawl"]), "goal": goal, "less_is_better": False,
                                 "reached": None if goal is None else statistics.median(kept["pawl"]) >= goal})
    return rows


def cells(row):
    sign = "≤" if row["less_is_better"] else "≥"
    goal = "" if row["goal"] is None else f"{sign} {row['goal']:.2f}"
    verdict = {None: "", True: "reached", False: "missed"}[row["reached"]]
    ratio = row["ratio"]
    return [row["model"], row["line"], row["peer"], f"{row['pawl']:,.1f}", f"{row['other']:,.1f}", row["unit"],
            f"{ratio['median']:.2f}", f"{ratio['min']:.2f} to {ratio['max']:.2f}", goal, verdict]


HEAD = ["model", "line", "peer", "pawl", "peer's", "unit", "ratio", "min to max", "goal", "verdict"]


def text_table(rows):
    lines = [HEAD] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    is_number = [3, 4, 6, 8]
    return "\n".join("  ".join(cell.rjust(w) if i in is_number else cell.ljust(w)
                               for i, (cell, w) in enumerate(zip(line, widths))).rstrip() for line in lines)


def markdown_table(rows, conditions):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    told = "; ".join(f"{key} {value}" for key, value in conditions.items())
    return f"Conditions: {told}.\n\n" + "\n".join(lines) + "\n"


def conditions_of(arguments, engines):
    cpu = next((line.split(": ", 1)[1] for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.machine())
    return {"date": datetime.date.today().isoformat(), "processor": cpu, "threads": arguments.threads,
            "load at the start": round(os.getloadavg()[0], 2), "kernel": platform.release(),
            "engines": ", ".join(engine.version() for engine in engines), "rounds": arguments.rounds,
            "repetitions": arguments.reps, "decoded tokens": 32 if arguments.quick else 96}


def main():
    arguments = parse_arguments()
    try:
        environment = peers.Environment(arguments.venv)
        pawl = peers.Pawl(arguments.pawl, arguments.reps)
        llama = peers.Llama(environment, arguments.reps)
        engines = [pawl, llama] + ([peers.OpenVino(environment, arguments.reps)] if arguments.openvino else [])
        files = {name: model_file(name, pawl, llama) for name in arguments.models.split(",")}
        conditions = conditions_of(arguments, engines)
    except (peers.PeerError, subprocess.CalledProcessError) as error:
        sys.exit(f"against_peers: {error}")
    if conditions["load at the start"] > 0.5:
        print(f"note: other processes are running (load {conditions['load at the start']}); the numbers are not "
              "those of a quiet machine", file=sys.stderr)
    results = measure_all(arguments, engines, files)
    rows = summarise(results)
    print(text_table(rows))
    document = {"conditions": conditions, "rows": rows, "measured": results}
    pathlib.Path(arguments.json).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n",
                                            encoding="utf-8")
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(markdown_table(rows, conditions), encoding="utf-8")


if __name__ == "__main__":
    main()
