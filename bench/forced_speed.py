#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What answers held to a schema cost, beside free text of as many tokens: the same model, prompt and machine, in turns.

    bench/forced_speed.py --pawl build/release/pawl -m gemma3-270m -m qwen2.5-coder-0.5b [--rounds 5]

Shown are medians over the rounds: milliseconds per output token (decode time by tokens behind the first), and per
forward pass. Forced tokens make the first smaller; what a mask costs where it is waited for makes the second larger.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SCHEMA = {
    "type": "object", "additionalProperties": False,
    "required": ["customer_name", "order_number", "delivery_address", "items", "priority", "needs_callback"],
    "properties": {
        "customer_name": {"type": "string", "minLength": 3, "maxLength": 24},
        "order_number": {"type": "integer", "minimum": 10000, "maximum": 99999},
        "delivery_address": {
            "type": "object", "additionalProperties": False, "required": ["street", "city", "postal_code"],
            "properties": {"street": {"type": "string", "minLength": 5, "maxLength": 30},
                           "city": {"type": "string", "minLength": 3, "maxLength": 16},
                           "postal_code": {"type": "string", "pattern": "^[0-9]{5}$"}}},
        "items": {"type": "array", "minItems": 2, "maxItems": 3, "items": {
            "type": "object", "additionalProperties": False, "required": ["product_name", "quantity"],
            "properties": {"product_name": {"type": "string", "minLength": 3, "maxLength": 20},
                           "quantity": {"type": "integer", "minimum": 1, "maximum": 9}}}},
        "priority": {"enum": ["low_priority", "normal_priority", "high_priority"]},
        "needs_callback": {"type": "boolean"}}}
PROMPT = ("Ticket: John Miller from 12 Oak Street, Springfield 62704 writes that his order 48213 of two lamps and a "
          "chair has not arrived and asks to be called back soon.\nThe ticket as JSON:\n")


def run(arguments, model, *flags):
    done = subprocess.run([arguments.pawl, "run", "-m", model, "-p", PROMPT, "--greedy", "--json",
                           "-t", str(arguments.threads), *flags], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def costs(answer):
    tokens, passes = answer["usage"]["completion_tokens"] - 1, answer["usage"]["forward_passes"] - 1
    decode = answer["timings"]["decode_ms"]
    return decode / tokens, decode / passes


def measure(arguments, model, schema):
    held, free, shares = [], [], []
    for _ in range(arguments.rounds):
        answer = run(arguments, model, "--schema", schema, "-n", "400")
        tokens = answer["usage"]["completion_tokens"]
        json.loads(answer["text"])
        shares.append(answer["usage"]["forced_tokens"] / tokens)
        held.append(costs(answer))
        free.append(costs(run(arguments, model, "-n", str(tokens), "--ignore-eos")))
    ratios = [f[0] / h[0] for f, h in zip(free, held)]
    row = {"model": model, "tokens": tokens, "forced_share": statistics.median(shares),
           "held_ms_per_token": statistics.median(h[0] for h in held),
           "free_ms_per_token": statistics.median(f[0] for f in free),
           "held_ms_per_pass": statistics.median(h[1] for h in held),
           "free_ms_per_pass": statistics.median(f[1] for f in free),
           "times_as_fast": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    print(f"{model}: {tokens} tokens, {100 * row['forced_share']:.0f} % forced; per token "
          f"{row['held_ms_per_token']:.2f} ms held, {row['free_ms_per_token']:.2f} ms free: "
          f"{row['times_as_fast']:.2f} times as fast ({row['least']:.2f} to {row['most']:.2f}); per pass "
          f"{row['held_ms_per_pass']:.2f} ms held, {row['free_ms_per_pass']:.2f} ms free", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="pawl")
    parser.add_argument("-m", "--model", action="append", required=True)
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="the rows, as a file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        schema = pathlib.Path(folder) / "schema.json"
        schema.write_text(json.dumps(SCHEMA))
        rows = [measure(arguments, model, str(schema)) for model in arguments.model]
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
