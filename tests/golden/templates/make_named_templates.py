#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/templates/named.json: texts of Axolotl's named chat templates, by transformers.
Usage: make_named_templates.py DIR, where DIR has the templates of Axolotl 0.19 (axolotl/utils/chat_templates/templates
in its wheel). Needs transformers 5.24 and jinja2 3.1.6; for developers only."""
import json
import pathlib
import sys

import transformers.utils.chat_template_utils as chat

OUT = pathlib.Path(__file__).resolve().parent / "named.json"
NAMED = OUT.parents[3] / "src" / "text" / "template" / "named"
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


def message(role, text):
    return {"role": role, "content": text}


CONVERSATIONS = [
    [message("user", "Hi")],
    [message("user", "Hi"), message("assistant", "  Hello\n there ")],
    [message("system", " You are \"terse\". "), message("user", "Grüße, 你好 '\"<b>"), message("assistant", "ok"),
     message("user", "\n next "), message("assistant", "bye 👋")],
    [message("system", "S"), message("user", "q")],
    [message("user", "a"), message("assistant", "b"), message("user", "c")],
    [message("user", ""), message("assistant", "")],
    [message("user", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]), message("assistant", "three")],
]


def text(template, messages, prompt):
    try:
        return chat._compile_jinja_template(template).render(
            messages=messages, tools=None, documents=None, add_generation_prompt=prompt, **SPECIAL)
    except Exception:  # the template refuses the conversation
        return None


def main():
    there = pathlib.Path(sys.argv[1])
    texts = {}
    for path in sorted(NAMED.glob("*.jinja")):
        template = (there / path.name).read_text()
        texts[path.stem] = [[text(template, one, prompt) for prompt in (False, True)] for one in CONVERSATIONS]
    OUT.write_text(json.dumps({"special_tokens": SPECIAL, "conversations": CONVERSATIONS, "texts": texts},
                              ensure_ascii=False, indent=1) + "\n")


main()
