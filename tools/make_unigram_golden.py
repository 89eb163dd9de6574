# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/tokenizers/unigram.json: what SentencePiece makes of texts with a small Unigram model.

Usage: make_unigram_golden.py   (needs the Python package `sentencepiece`)

Two models are trained on the texts below: one as T5's files are (a space before the first word, runs of spaces
made one, a table of characters that are replaced), one that keeps spaces as they are. Kept are pieces, scores, kinds as
GGUF numbers them, the compiled table of characters, and for each text its ids.
"""
import base64
import io
import json
import pathlib
import random
import tempfile

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as pb

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
WORDS = ("the sea is blue and the sky is grey while a small boat sails over deep water to find an island where trees grow tall "
         "under warm rain numbers 12 345 6789 come and go caf\u00e9 na\u00efve \u4f60\u597d \u4e16\u754c \u043c\u043e\u0440\u0435 don't can't it's").split()
# Replacements of characters: full-width letters, ligatures, a pair of characters, and what disappears.
RULES = {"\uff21": "A", "\uff22": "B", "\ufb01": "fi", "\u2460": "1", "\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\u200b": "", "e\u0301": "\u00e9", "e\u0301\u0302": "E", "\u2026": "..."}
TEXTS = ["The sea is blue", "the  sea   is blue ", "  leading and trailing  ", "", " ", "   ", "a", "unknown\u2603\u2603snow\u2603 man", "\uff21\uff22 of\ufb01ce \u2460\u2026", "e\u0301 e\u0301\u0302 e", "x\u200by", "tab\there\nline",
         "12 345 6789 0", "caf\u00e9 na\u00efve cafe\u0301", "\u4f60\u597d\u4e16\u754c", "\u043c\u043e\u0440\u0435 \u041c\u041e\u0420\u0415", "don't can't it's", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "<s>the</s>", "<extra>sea<extra> blue", "sea<extra>", "\U0001F600 ok",
         "\u2581 odd \u2581mark", "the\u00a0sea\u3000is", "islandislandisland", "....----", "under warm rain where trees grow tall"]


def train(**options):
    random.seed(7)
    lines = [" ".join(random.choices(WORDS, k=12)) for _ in range(400)]
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=84, hard_vocab_limit=False, model_type="unigram",
                                   user_defined_symbols=["<extra>"], pad_id=-1, minloglevel=2, **options)
    return model.getvalue()


def describe(name, data, texts):
    proto = pb.ModelProto()
    proto.ParseFromString(data)
    processor = spm.SentencePieceProcessor(model_proto=data)
    normalizer = proto.normalizer_spec
    return {"name": name, "tokens": [p.piece for p in proto.pieces], "scores": [p.score for p in proto.pieces],
            "types": [p.type for p in proto.pieces], "add_space_prefix": normalizer.add_dummy_prefix,
            "remove_extra_whitespaces": normalizer.remove_extra_whitespaces,
            "precompiled_charsmap": base64.b64encode(normalizer.precompiled_charsmap).decode(),
            "cases": [{"text": t, "ids": processor.encode(t)} for t in texts]}


def main():
    random.seed(11)
    mixed = ["".join(random.choices("".join(WORDS) + "    \u2603\uff21\ufb01\u00a0", k=random.randint(1, 60))) for _ in range(60)]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as rules:
        for source, target in RULES.items():
            rules.write(" ".join(f"{ord(c):X}" for c in source) + "\t" + " ".join(f"{ord(c):X}" for c in target) + "\n")
        rules.flush()
        replacing = train(normalization_rule_tsv=rules.name)
    keeping = train(normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False)
    data = [describe("replacing", replacing, TEXTS + mixed), describe("keeping", keeping, TEXTS + mixed)]
    (GOLDEN / "tokenizers/unigram.json").write_text(json.dumps(data, separators=(",", ":")).replace('{"text"', '\n{"text"') + "\n")


if __name__ == "__main__":
    main()
