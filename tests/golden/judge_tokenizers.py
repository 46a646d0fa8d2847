#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares ids and decoded text of triax with Hugging Face tokenizers or sentencepiece, live.
Usage: judge_tokenizers.py TRIAX STRINGS PATH... [--text FILE...]
PATH: a directory with a tokenizer.json, or a SentencePiece .model. STRINGS random strings are drawn for each (and the
first of these as one job with special tokens allowed); each FILE is compared in documents of 2,000,000 characters.
Needs tokenizers 0.23 and sentencepiece 0.2; for developers only. Exit status 1 where something differs."""
import json
import os
import random
import subprocess
import sys

import make_tokenizers  # texts
import sentencepiece
from tokenizers import Tokenizer

BATCH = 20000


def answers(triax, command, path, lines, *options):
    done = subprocess.run([triax, "tokenizer", command, path, "--jsonl", *options], check=True, capture_output=True,
                          text=True, encoding="utf-8", input="".join(json.dumps(line) + "\n" for line in lines))
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def judge_of(path):
    if not os.path.isdir(path):
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        return lambda texts, special: [model.encode(text) for text in texts], None
    model = Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
    model.no_truncation()
    model.no_padding()

    def encode(texts, special):
        model.encode_special_tokens = not special
        return [e.ids for e in model.encode_batch(texts, add_special_tokens=False)]
    return encode, lambda ids: model.decode_batch(ids, skip_special_tokens=False)


def compare(triax, path, encode, decode, texts, special):
    wanted = encode(texts, special)
    found = answers(triax, "encode", path, texts, *(["--special"] if special else []))
    bad = [(t, w, f) for t, w, f in zip(texts, wanted, found) if w != f]
    if decode:
        decoded = answers(triax, "decode", path, wanted)
        bad += [(t, w, f) for t, w, f in zip(texts, decode(wanted), decoded) if w != f]
    for text, want, got in bad[:3]:
        print(f"{path}: {text[:200]!r}\n  wanted {want[:40]}\n  found  {got[:40]}")
    return len(bad)


def documents(path):
    with open(path, encoding="utf-8", newline="") as file:
        while text := file.read(2000000):
            yield text


def main():
    arguments, files = sys.argv[1:], []
    if "--text" in arguments:
        at = arguments.index("--text")
        arguments, files = arguments[:at], arguments[at + 1:]
    triax, strings, paths = arguments[0], int(arguments[1]), arguments[2:]
    wrong = 0
    for path in paths:
        r, bad, characters = random.Random(2), 0, 0
        encode, decode = judge_of(path)
        is_model = decode is None
        for first in range(0, strings, BATCH):
            texts = [make_tokenizers.text_of(r) for _ in range(min(BATCH, strings - first))]
            if is_model:
                texts = [text.replace("\0", "") for text in texts]
            bad += compare(triax, path, encode, decode, texts, special=first == 0 and not is_model)
        for file in files:
            texts = list(documents(file))
            characters += sum(map(len, texts))
            for first in range(0, len(texts), 5):
                bad += compare(triax, path, encode, decode, texts[first:first + 5], special=False)
        print(f"{path}: {strings} strings, {characters} characters of text: {bad} differ", flush=True)
        wrong += bad
    sys.exit(1 if wrong else 0)


main()
