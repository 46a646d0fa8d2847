#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of Hugging Face tokenizers and tiktoken on one thread, as bench_tokenize measures triax.
Usage: tokenize.py BYTES TEXT... -- DIR...   (DIR has a tokenizer.json; its pattern and vocabulary also run in tiktoken)
Prints a JSON line per case. Encodes documents of BYTES that end at a newline, and takes the best of three."""
import json
import os
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
sys.path.pop(0)  # this file has the name of a module of Python
import tiktoken  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""


def documents(text, size):
    parts, at = [], 0
    while at < len(text):
        end = text.rfind("\n", at, at + size) + 1 if at + size < len(text) else len(text)
        end = end if end > at else min(at + size, len(text))
        parts.append(text[at:end])
        at = end
    return parts


def best(encode, parts, data):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        ids = sum(len(encode(part)) for part in parts)
        times.append(time.perf_counter() - start)
    return len(data) / min(times), len(data) / ids


def alphabet():
    points = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    rest = [b for b in range(256) if b not in points]
    return {**{chr(b): b for b in points}, **{chr(0x100 + i): b for i, b in enumerate(rest)}}


def in_tiktoken(path):
    """The byte-level BPE of a tokenizer.json: its ids are its ranks."""
    with open(path, encoding="utf-8") as file:
        parts = json.load(file)
    byte_of, pattern = alphabet(), GPT2
    for step in parts["pre_tokenizer"].get("pretokenizers", []):
        pattern = step.get("pattern", {}).get("Regex", pattern)
    ranks = {bytes(byte_of[c] for c in token): rank for token, rank in parts["model"]["vocab"].items()
             if all(c in byte_of for c in token) and not token.startswith("<|")}
    return tiktoken.Encoding(name="peer", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def main():
    size, rest = int(sys.argv[1]), sys.argv[2:]
    texts, folders = rest[:rest.index("--")], rest[rest.index("--") + 1:]
    for folder in folders:
        path = os.path.join(folder, "tokenizer.json")
        peer = Tokenizer.from_file(path)
        peer.encode_special_tokens = True
        encoding = in_tiktoken(path)
        for name in texts:
            with open(name, "rb") as file:
                data = file.read()
            parts = documents(data.decode(), size)
            for program, encode in (("tokenizers", lambda text: peer.encode(text, add_special_tokens=False).ids),
                                    ("tiktoken", encoding.encode_ordinary)):
                speed, per_token = best(encode, parts, data)
                print(json.dumps({"program": program, "case": f"{os.path.basename(folder)} {os.path.basename(name)}",
                                  "bytes_per_second": round(speed), "bytes_per_token": round(per_token, 4)}), flush=True)


main()
