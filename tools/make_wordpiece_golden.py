# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/tokenizers/wordpiece.json: what Hugging Face's tokenizer of BERT makes of texts.

Usage: make_wordpiece_golden.py   (needs the Python package `tokenizers`)

A small WordPiece vocabulary is trained on the texts below, once in lower case without accents and once as written.
Tokens are kept as GGUF stores them: U+2581 before those that begin a word, and `##` left out.
"""
import json
import pathlib
import random

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ("The sea is blue and the Sky is grey while a small boat sails over deep water to find an Island where trees grow tall under "
         "warm rain 12 345 6789 caf\u00e9 na\u00efve \u00dcber don't, (can't) it's! \u4f60\u597d \u4e16\u754c \u043c\u043e\u0440\u0435 \u0439\u043e\u0434 a-b_c x=y $5 5% \u00bfqu\u00e9? \u2018quote\u2019").split()
TEXTS = ["The sea is BLUE.", "  spaces   and\ttabs\nlines ", "", " ", "Caf\u00e9 CAF\u00c9 cafe\u0301 na\u00efve \u00dcBER", "\u4f60\u597d\u4e16\u754c sea\u4f60", "don't (can't) it's!", "a-b_c x=y $5 5% ^~`|<>+", "\u00bfqu\u00e9? \u2018quote\u2019 \u201c\u2026\u201d \u3002",
         "zero\u200bwidth soft\u00adhyphen \u0007bell null\u0000here \ufffd", "unknown\u2603snow \U0001F600", "islandislandisland", "a" * 100, "a" * 101, "\u0439\u043e\u0434 \u0419\u041e\u0414 \u043c\u043e\u0440\u0435", "no\u00a0break\u2003em\u3000wide", "\u01c5 \u0130stanbul \u00df \ufb01",
         "12 345 6789 12345", "under warm rain where trees grow tall", "\ufe0f\u0301alone", "\uf900 \u3400 \U00020000 \u3042\u30a2\uac00"]


def train(lowers):
    random.seed(3)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=lowers, lowercase=lowers)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    lines = [" ".join(random.choices(WORDS, k=10)) for _ in range(300)]
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=260, special_tokens=SPECIAL, show_progress=False))
    return tokenizer


def describe(tokenizer, lowers, texts):
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    stored = [t if t in SPECIAL else t[2:] if t.startswith("##") else "\u2581" + t for t, _ in vocabulary]
    return {"lowers": lowers, "tokens": stored, "types": [2 if t == "[UNK]" else 3 if t in SPECIAL else 1 for t in stored],
            "cases": [{"text": t, "ids": tokenizer.encode(t, add_special_tokens=False).ids} for t in texts]}


def main():
    random.seed(5)
    letters = "".join(WORDS) + "     \u2603\u0301\u00a0\u200b\u4f60"
    mixed = ["".join(random.choices(letters, k=random.randint(1, 50))) for _ in range(60)]
    data = [describe(train(lowers), lowers, TEXTS + mixed) for lowers in (True, False)]
    (GOLDEN / "tokenizers/wordpiece.json").write_text(json.dumps(data, separators=(",", ":")).replace('{"text"', '\n{"text"') + "\n")


if __name__ == "__main__":
    main()
