#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains small tokenizers with Hugging Face tokenizers 0.23 into tests/golden/trained, for tests/data/bpe_training.
Usage: make_trained.py [OUT]   (for developers only; nothing that is built or tested runs it)
Each case is a row of the table: documents, how it is trained, and the bytes of tokenizer.json that Tokenizer.save()
writes. The texts have ties, runs, and special tokens that merges make."""
import json
import os
import random
import sys

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {"llama3": WORDS % r"\p{N}{1,3}", "qwen2": WORDS % r"\p{N}"}


def pre_tokenizer(pattern):
    if pattern == "gpt2":
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERNS[pattern]), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(documents, pattern, vocab_size, min_frequency=0, max_token_length=None, special=("<|endoftext|>",)):
    """Tokenizer of an iterator of documents."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer(pattern)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(documents, trainers.BpeTrainer(
        vocab_size=vocab_size, min_frequency=min_frequency, max_token_length=max_token_length,
        special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


MIXED = ["The cat's hat, I'LL say: it's the cat's, they've 12345 cats and 67 hats.\r\nNew line\r\n\r\n  indented  \t text\n",
         "for (int i = 0; i < 100; ++i) {\n    sum += values[i] * 0.5;  // comment\n}\n\n\treturn sum;\n",
         "日本語のテキストと中文文本, 한국어 텍스트. 日本語のテキスト。\u3000全角　空白",
         "👩‍👩‍👧 family 👍🏽 thumbs 🇩🇪 flag e\u0301 é Ünïcödé \u00a0nbsp\u2028line ſ's don\u2019t",
         "<|endoftext|> is text here, <|endoftext|> too", "   ", "\n\n\n", "x", "a\x00b\x7fc"]


def pieces(seed, count, words):
    r = random.Random(seed)
    return ["".join(r.choice(words) for _ in range(r.randrange(1, 30))) for _ in range(count)]


# Few letters: most counts tie.
LETTERS = pieces(1, 60, ["a", "b", "ab", "ba", "aa", "c", " ", "abab", "bab"])
RUNS = ["a" * n + " " + "ab" * (n // 2) + " " + "aab" * (n // 3) + "\n" + " " * n + "x" for n in range(1, 40)]

CASES = {
    "gpt2": dict(documents=MIXED, pattern="gpt2", vocab_size=480),
    "llama3": dict(documents=MIXED * 2 + pieces(2, 20, ["the ", "12", "345", "6 ", "'re", "日", "é"]), pattern="llama3",
                   vocab_size=460, min_frequency=2),
    "qwen2": dict(documents=MIXED + pieces(3, 20, ["1", "23", " x", "\r\n", "...", "I'm ", "語"]), pattern="qwen2",
                  vocab_size=460),
    "ties": dict(documents=LETTERS, pattern="gpt2", vocab_size=600),
    "runs": dict(documents=RUNS, pattern="llama3", vocab_size=420),
    "short": dict(documents=MIXED + LETTERS, pattern="gpt2", vocab_size=400, max_token_length=5),
    "special": dict(documents=LETTERS + MIXED, pattern="gpt2", vocab_size=400, special=["<end>", "ab", "Ġa", "é", "abab"]),
}


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "trained")
    os.makedirs(out, exist_ok=True)
    for name, case in CASES.items():
        train(**case).save(os.path.join(out, name + ".tokenizer.json"))
        with open(os.path.join(out, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(case, file, ensure_ascii=True, indent=0)
            file.write("\n")


if __name__ == "__main__":
    main()
