#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the rows of src/text/unicode/class_ranges.cpp: the classes that Oniguruma, as Hugging Face tokenizers uses
it, gives every code point (Unicode 16). Usage: character_classes.py, with tokenizers 0.23 installed."""
from tokenizers import Regex, normalizers

# In the order of CharacterClass (src/text/unicode/classes.hpp); 0 is none of them.
CLASSES = [r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\p{Lm}", r"\p{Lo}", r"\p{M}", r"\p{Nd}", r"\p{Nl}", r"\p{No}", r"\p{Pc}",
           r"[\p{P}&&[^\p{Pc}]]", r"\p{S}", r"\s"]


def members(of, points):
    kept = normalizers.Replace(Regex(f"[^{of}]"), "")
    for first in range(0, len(points), 20000):
        yield from map(ord, kept.normalize_str("".join(map(chr, points[first:first + 20000]))))


def main():
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    class_of = {}
    for number, pattern in enumerate(CLASSES, 1):
        for c in members(pattern, points):
            assert c not in class_of, hex(c)
            class_of[c] = number
    rows, last = [], 0
    for c in range(0x110000):
        if class_of.get(c, 0) != last:
            last = class_of.get(c, 0)
            rows.append(f"0x{c << 4 | last:x}")
    line = "   "
    for row in rows:
        if len(line) + len(row) + 2 > 100:
            print(line)
            line = "   "
        line += f" {row},"
    print(line)


main()
