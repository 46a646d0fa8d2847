#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/tokenizers: small tokenizers of each kind, trained on the spot, with texts and their ids.
Usage: make_tokenizers.py. Needs tokenizers 0.23 and sentencepiece 0.2; for developers only."""
import json
import os
import random
import tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers")
POOLS = ["abcdefghijklmnopqrstuvwxyzABCXYZ", "0123456789", "  \t\n\r\n\v\f\x85\u00a0\u2003\u3000\u180e\u200b\ufeff",
         "'\"!?.,;:-_/\\()[]{}<>|@#$%^&*+=~`", "éèüñßİıſǅŉΩωЖж", "中文字的一是ひらがなカタカナー々한국어각",
         "\u0300\u0301\u0327\u0345\u05b0\u064b\u093c\u0bbe\u3099", "👩👨👧\u200d❤\ufe0f🏳🌈🇩🇪🏽", "١٢٣४५Ⅷ½²①", "ʰʲˠ", "€£∑≠→░",
         "\0\x01\x1f\x7f\ufffd\ue000", "ഀमनीతెลุกه\u0640", "𝒜𝔅𝟘𐍈🀀"]
WORDS = ["the", " hello", "'s", "'S", "'ſ", "'re", "'LL", " world", "don't", "I'm", "\r\n", "  ", "   x", "<|end|>",
         "<s>", "</s>", "[INST]", "def f(x):\n    return x", "123456", "http://a.b/c?d=e", "ÀÉ", "e\u0301", "▁",
         "<0x41>", "\u1100\u1161\u11a8", "가\u11a8", "ﬁ", "Å", "㍿"]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"| ?[^\s\p{L}\p{N}]", r"| ?[^\s\p{L}\p{M}\p{N}]")
FIRST, SECOND = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = (rf"[^\r\n\p{{L}}\p{{N}}]?{FIRST}*{SECOND}+|[^\r\n\p{{L}}\p{{N}}]?{FIRST}+{SECOND}*|\p{{N}}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = (TEKKEN.replace(rf"{SECOND}+|", rf"{SECOND}+{END}|").replace(rf"{SECOND}*|", rf"{SECOND}*{END}|")
         .replace(r"|\p{N}|", r"|\p{N}{1,3}|"))
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
OTHER = r"\s?\p{L}+|\s?\p{N}{1,2}|[^\s\p{L}\p{N}]|\s+"


def text_of(r):
    kind, n = r.random(), r.choice([1, 2, 3, 5, 8, 13, 30])
    if kind < .3:
        return "".join(r.choice("".join(POOLS)) for _ in range(n))
    if kind < .6:
        return "".join(r.choice(r.choice(POOLS)) for _ in range(n))
    return "".join(r.choice(WORDS) if r.random() < .6 else r.choice(r.choice(POOLS)) for _ in range(n))


def splits(*patterns):
    parts = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(parts + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_level(pre, texts, normalizer=None, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=420, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_special_tokens([AddedToken("<|end|>", normalized=False), AddedToken("<s>", normalized=False)])
    t.add_tokens([AddedToken("[INST]", normalized=True), AddedToken("hello", single_word=True, lstrip=True),
                  AddedToken("123", rstrip=True, normalized=False)])
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", t.token_to_id("<s>"))])])
    return t


def characters(texts, normalizer, pre, decoder):
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    trained.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=560, show_progress=False, limit_alphabet=150,
                                                           special_tokens=specials))
    model = json.loads(trained.to_str())["model"]
    t = Tokenizer(models.BPE(vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]], unk_token="<unk>",
                             fuse_unk=True, byte_fallback=True))
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.decoder = decoder
    t.add_special_tokens([AddedToken(s, normalized=False) for s in specials[:3]])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return t


def unigram(texts):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip()])
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    plain = [x for x in texts if all(ord(c) < 0x250 for c in x) and "<" not in x]
    t.train_from_iterator(plain, trainers.UnigramTrainer(vocab_size=500, show_progress=False, unk_token="<unk>",
                                                         special_tokens=["<unk>", "<s>", "</s>"]))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return t


def write(folder, rows):
    with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def write_huggingface(name, t, r):
    folder = os.path.join(OUT, name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "tokenizer.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.dumps(json.loads(t.to_str()), separators=(",", ":")) + "\n")
    t = Tokenizer.from_file(path)
    rows = []
    for i in range(120):
        text, special, around = text_of(r), bool(i & 1), bool(i & 2)
        t.encode_special_tokens = not special
        ids = t.encode(text, add_special_tokens=around).ids
        rows.append({"text": text, "special": special, "add": around, "ids": ids,
                     "decoded": t.decode(ids, skip_special_tokens=False)})
    write(folder, rows)


def write_sentencepiece(name, texts, r, rules=(), **options):
    folder = os.path.join(OUT, name)
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        corpus = os.path.join(temporary, "corpus.txt")
        with open(corpus, "w", encoding="utf-8") as f:
            f.write("\n".join(x.replace("\0", "").replace("\n", " ") for x in texts))
        if rules:
            options["normalization_rule_tsv"] = os.path.join(temporary, "rules.tsv")
            with open(options["normalization_rule_tsv"], "w", encoding="utf-8") as f:
                f.writelines(f"{left}\t{right}\n" for left, right in rules)
        sentencepiece.SentencePieceTrainer.train(
            input=corpus, model_prefix=os.path.join(temporary, "m"), character_coverage=0.98, hard_vocab_limit=False,
            minloglevel=2, self_test_sample_size=0, **options)
        p = sentencepiece.SentencePieceProcessor(model_file=os.path.join(temporary, "m.model"))
        with open(os.path.join(temporary, "m.model"), "rb") as f, open(os.path.join(folder, "tokenizer.model"), "wb") as o:
            o.write(f.read())
    rows = []
    for _ in range(120):
        text = text_of(r).replace("\0", "")
        ids = p.encode(text)
        row = {"text": text, "special": False, "add": False, "ids": ids}
        if p.unk_id() not in ids:
            row["decoded"] = p.decode(ids)
        rows.append(row)
    write(folder, rows)


def main():
    r = random.Random(7)
    texts = [text_of(r) for _ in range(1500)]
    legacy = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    seq = normalizers.Sequence
    kinds = {
        "gpt2": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), texts),
        "prefix-space": byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), texts),
        "llama3": byte_level(splits(LLAMA3), texts, ignore_merges=True),
        "qwen2": byte_level(splits(QWEN2), texts, normalizers.NFC()),
        "qwen35": byte_level(splits(QWEN35), texts, normalizers.NFC()),
        "tekken": byte_level(splits(TEKKEN), texts),
        "o200k": byte_level(splits(O200K), texts),
        "deepseek": byte_level(splits(*DEEPSEEK), texts),
        "other-pattern": byte_level(splits(OTHER), texts),
        "llama2": characters(texts, seq([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
                             decoders.Sequence(legacy)),
        "metaspace": characters(texts, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                                decoders.Sequence(legacy)),
        "gemma": characters(texts, normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
                            decoders.Sequence(legacy[:3])),
        "unigram": unigram(texts),
    }
    for name, tokenizer in kinds.items():
        write_huggingface(name, tokenizer, r)
    # The rules of NFKC would be 240 KB.
    rules = [("FB01", "66 69"), ("65 301", "E9"), ("65 301 301", "E8"), ("A0", "20"), ("3000", "20"), ("200B", ""),
             ("41", "61"), ("A", "20"), ("D", "20"), ("D A", "20")]
    write_sentencepiece("sentencepiece-unigram", texts, r, rules, model_type="unigram", vocab_size=500)
    write_sentencepiece("sentencepiece-bpe", texts, r, model_type="bpe", vocab_size=800, byte_fallback=True,
                        normalization_rule_name="identity", remove_extra_whitespaces=False,
                        user_defined_symbols=["[INST]", "▁▁"])


if __name__ == "__main__":
    main()
