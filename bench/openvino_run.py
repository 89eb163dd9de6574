# SPDX-License-Identifier: Apache-2.0
"""Runs OpenVINO GenAI once, for bench/peers.py, with the Python that has it installed.

MODEL THREADS PROMPT_TOKENS TOKENS REPETITIONS   prints {"prefill", "decode"} in tokens per second
MODEL THREADS TEXT                               prints the first token's text, as soon as it is there
"""

import json
import statistics
import sys

import numpy
import openvino
import openvino_genai


def config(tokens):
    settings = openvino_genai.GenerationConfig()
    settings.max_new_tokens = tokens
    settings.ignore_eos = True
    settings.do_sample = False
    return settings


def measure(pipeline, prompt, tokens, repetitions):
    random = numpy.random.default_rng(1)
    prefill, decode = [], []
    for repetition in range(repetitions + 1):
        # Another prompt each time: the pipeline keeps the keys and values of those it has seen.
        ids = random.integers(1000, 20000, (1, prompt), dtype=numpy.int64)
        inputs = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
        metrics = pipeline.generate(inputs, config(tokens)).perf_metrics
        if repetition == 0:  # warm-up
            continue
        prefill.append(prompt * 1000 / metrics.get_ttft().mean)
        decode.append(1000 / metrics.get_tpot().mean)
    print(json.dumps({"prefill": statistics.median(prefill), "decode": statistics.median(decode)}))


def main():
    model, threads, *rest = sys.argv[1:]
    pipeline = openvino_genai.LLMPipeline(model, "CPU", INFERENCE_NUM_THREADS=int(threads))
    if len(rest) == 1:
        print(pipeline.generate(rest[0], config(1)), flush=True)
    else:
        measure(pipeline, *map(int, rest))


if __name__ == "__main__":
    main()
