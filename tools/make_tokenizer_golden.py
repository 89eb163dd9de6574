# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/tokenizers/hugging-face.json: what the Hugging Face `tokenizers` library makes of texts.

Usage: make_tokenizer_golden.py   (needs the Python packages `tokenizers` and `gguf`)

The vocabularies are those of tests/golden/tiny; the library is given their tokens and merges (for the
SentencePiece kind: all splits of each token into two, best score first, which is how its own converter makes
them) and the normalizers and expressions that published tokenizer.json files use. Kept are:
- `repeated`: one character 26,000 times, ids as head + times * cycle + tail;
- `after_special`: texts with special tokens in them and what stands around these;
- `words`: how the expressions of a pre-tokenizer name cut texts into words.
"""
import json
import pathlib
import random

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests/golden"

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL
QWEN35 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + TAIL
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL)
TEKKEN = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL)
NO_HAN_UPPER, NO_HAN_LOWER = UPPER[:-1] + r"&&[^\p{Han}]]", LOWER[:-1] + r"&&[^\p{Han}]]"
KIMI = (rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{NO_HAN_UPPER}*{NO_HAN_LOWER}+{CONTRACTIONS}?"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{NO_HAN_UPPER}+{NO_HAN_LOWER}*{CONTRACTIONS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|" + TAIL)
DEEPSEEK3 = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
             r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|""" + TAIL]
DEEPSEEK_CODER = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}"]
SEED = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|" + TAIL
BAILING = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
WORDS = {"gpt-2": [GPT2], "starcoder": [r"\p{N}", GPT2], "llama-bpe": [LLAMA3], "qwen2": [QWEN2], "qwen35": [QWEN35], "gpt-4o": [GPT4O],
         "tekken": [TEKKEN], "kimi-k2": [KIMI], "deepseek-v3": DEEPSEEK3, "deepseek-coder": DEEPSEEK_CODER, "seed-coder": [SEED], "bailingmoe": [BAILING]}

TEXTS = [
    "It's 12345 o'clock, I'LL say; we've 7 days' rest.", "HTTPServer parseXMLFile iPhone McDonald's ALLCAPS'S", "a  b   c\n\n  d\t\te \r\n\r\nf   ",
    "\u4f60\u597d\uff0c\u4e16\u754c123\uff01 abc\u4e2ddef \u3005\u3007 \u30ab\u30bf\u306b\u3055\u308c \ud55c\uad6d\uc5b4", "e\u0301te\u0301 n\u0303o \u0928\u092e\u0938\u094d\u0924\u0947 \u0645\u064f\u062d\u064e", "x = f(a[1], \"s\") // note/\n\treturn -1;\n",
    "\u00a0a\u2003b\u3000c\u0085d\u2028e", "\u00bd\u00b2 \u0661\u0662\u0663\u0664 \u2160\u2161 1,234.56", "\U0001F600\U0001F468\u200d\U0001F469 ok\ufe0f", "   leading\n   \n trailing   \n", "don't DON'T \u2019s 's 'x ''", "https://a.b/c?d=e&f#g_h-i",
    "\u0410\u0411\u0412\u0433\u0434 \u0394\u03b5\u03bb\u03c4\u03b1 \u01c5a \u02b0x", "\n", " ", "\t \n", "a\r\nb\rc", "....---***!!!??", "12 345 6789 0", " \u00e9", "\u20ac100 $5 +3 <=> ^~|`",
]
CHARACTERS = ["A", "a", ".", " ", "0", "\u0301", "\u5b57", "\n"]
COUNT = 26000


def read(name):
    reader = gguf.GGUFReader(GOLDEN / "tiny" / f"{name}.gguf")
    def strings(key):
        field = reader.fields.get("tokenizer.ggml." + key)
        return [bytes(field.parts[i]).decode("utf-8") for i in field.data] if field else []
    def numbers(key):
        field = reader.fields.get("tokenizer.ggml." + key)
        return [field.parts[i][0].item() for i in field.data] if field else []
    return strings("tokens"), numbers("token_type"), strings("merges"), numbers("scores")


def add_special(tokenizer, tokens, types):
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, ty in zip(tokens, types) if ty in (2, 3)])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t, ty in zip(tokens, types) if ty == 4])
    return tokenizer


def byte_level(name, expressions):
    tokens, types, merges, _ = read(name)
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(e), "isolated") for e in expressions] + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return add_special(tokenizer, tokens, types)


def sentence_piece(name, prefix):
    tokens, types, _, scores = read(name)
    ids = {t: i for i, t in enumerate(tokens)}
    can_merge = {t for t, ty in zip(tokens, types) if ty in (1, 4)}
    splits = [(s, t[:i], t[i:]) for t, ty, s in zip(tokens, types, scores) if ty == 1 for i in range(1, len(t)) if t[:i] in can_merge and t[i:] in can_merge]
    splits.sort(key=lambda x: (x[0], len(x[1]), len(x[2])), reverse=True)
    tokenizer = Tokenizer(models.BPE(ids, [(l, r) for _, l, r in splits], byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    space = normalizers.Replace(" ", "\u2581")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), space]) if prefix else space
    return add_special(tokenizer, tokens, types)


def folded(ids):
    """ids as head, a cycle that repeats, and tail: the cut that leaves the least outside the cycle."""
    best = (0, 0, 1, 0)  # ids inside, head, period, times
    for head in range(min(8, len(ids))):
        for period in range(1, 33):
            end = head + period
            while end < len(ids) and ids[end] == ids[end - period]:
                end += 1
            times = (end - head) // period
            best = max(best, (times * period, -head, -period, times))
    _, head, period, times = best[0], -best[1], -best[2], best[3]
    return {"head": ids[:head], "cycle": ids[head:head + period], "times": times, "tail": ids[head + period * times:]}


def encode(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def after_special_texts():
    texts = [a + s + b for s in ("<s>", "</s>") for a in ("", "G", "one two", "end ") for b in ("", "G", " ", " two", "  two", "<s>", "</s>G")]
    r = random.Random(2)
    words = ["one", "two", "the sea", "ships", "G", "a", "by the wall,", "12", "\u00e9t\u00e9", "\u5b57", ""]
    while len(texts) < 1000:
        text = r.choice(words)
        for _ in range(r.randint(1, 3)):
            text += r.choice(["<s>", "</s>", "<unk>", "<|im_end|>"]) + " " * r.randint(0, 3) + r.choice(words)
        texts.append(text)
    return texts


def main():
    kinds = {("llama-untied", "qwen2"): byte_level("llama-untied", [QWEN2]), ("gpt2", "gpt-2"): byte_level("gpt2", [GPT2]),
             ("llama-untied", "gpt-4o"): byte_level("llama-untied", [GPT4O]),
             ("llama-spm", ""): sentence_piece("llama-spm", True), ("gemma3", ""): sentence_piece("gemma3", False)}
    repeated = [{"model": model, "pre": pre, "text": c, "count": COUNT, **folded(encode(t, c * COUNT))} for (model, pre), t in kinds.items() for c in CHARACTERS]
    spm = kinds[("llama-spm", "")]
    after = [{"text": text, "ids": encode(spm, text)} for text in dict.fromkeys(after_special_texts())]
    words = []
    for name, expressions in WORDS.items():
        cut = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(e), "isolated") for e in expressions])
        words += [{"pre": name, "text": t, "words": [w for w, _ in cut.pre_tokenize_str(t)]} for t in TEXTS]
    rows = lambda items: "[\n" + ",\n".join(json.dumps(i, separators=(",", ":")) for i in items) + "\n]"
    out = GOLDEN / "tokenizers/hugging-face.json"
    out.write_text('{"repeated":' + rows(repeated) + ',\n"after_special":' + rows(after) + ',\n"words":' + rows(words) + "}\n", encoding="ascii")
    print(out, len(repeated), len(after), len(words), out.stat().st_size)


if __name__ == "__main__":
    main()
