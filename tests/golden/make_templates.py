#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/templates: texts and spans of chat templates and of expressions, by transformers and Jinja.
Usage: make_templates.py. Needs transformers 5.24, jinja2 3.1.6 and tokenizers; for developers only.
The templates beside it are written for these tests in the manner of public families."""
import datetime
import json
import pathlib

import transformers.utils.chat_template_utils as chat
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

OUT = pathlib.Path(__file__).resolve().parent / "templates"
NOW = (2026, 1, 31, 12, 34, 56)
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}


class Frozen(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(*NOW)


chat.datetime = Frozen


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, **arguments):
    return {"type": "function", "id": "abc123def", "function": {"name": name, "arguments": arguments}}


def tool(text):
    return {"role": "tool", "content": text, "tool_call_id": "abc123def"}


SYSTEM = {"role": "system", "content": " You are \"terse\". "}
TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "Weather of a <city> & \"more\"", "parameters": {
            "type": "object", "required": ["city"], "properties": {
                "city": {"type": "string", "description": "name é"}, "days": {"type": ["integer", "null"], "default": 1.5},
                "units": {"type": "array", "items": {"type": "string"}}}}}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]
CONVERSATIONS = [
    {"messages": [user("Hi")]},
    {"messages": [user("Hi"), assistant("  Hello\n there ")]},
    {"messages": [SYSTEM, user("Grüße, 你好 '\"<b>"), assistant("ok"), user("\n next "), assistant("bye 👋")]},
    {"messages": [user("a"), assistant("<think>\nwhy\n</think>\n\nso"), user("b"), assistant("<think>r</think>z")]},
    {"messages": [SYSTEM, user("a"), assistant("so", reasoning_content="why"), user("b"), assistant("z", thinking="r\n")],
     "variables": {"enable_thinking": False}},
    {"messages": [user("w?"), assistant("", tool_calls=[call("get_weather", city="Zürich", days=2)]), tool("{\"t\": 1}"),
                  assistant("1 degree")], "tools": TOOLS},
    {"messages": [SYSTEM, user("w?"), assistant(None, tool_calls=[call("now"), call("get_weather", city="A", x=[1.0, None, True])]),
                  tool("12:00"), tool("rain"), assistant("It rains."), user("thanks")], "tools": TOOLS},
    {"messages": [user([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]), assistant("three")]},
    {"messages": [user("x"), user("y")]},
    {"messages": [user(""), assistant("")]},
    {"messages": [{"role": "critic", "content": "no"}, user("x")], "variables": {"thinking": True}},
    {"messages": [SYSTEM, user("q")], "documents": [{"title": "T", "text": " body "}, {"text": "second"}],
     "variables": {"date_string": "1 May 2025"}},
]


def byte_spans(text, spans):
    return [[len(text[:a].encode()), len(text[:b].encode())] for a, b in spans]


def outcome(render):
    try:
        text, spans = render()
        return {"text": text, "spans": byte_spans(text, spans)}
    except Exception as error:  # the template's own refusal has its text
        raised = type(error).__name__ == "TemplateError"
        return {"raised": str(error)} if raised else {"error": type(error).__name__}


def rendered(template, conversation, prompt):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), **SPECIAL)
    given = dict(conversation=conversation["messages"], tools=conversation.get("tools"), documents=conversation.get("documents"),
                 chat_template=template, add_generation_prompt=prompt, tokenize=False, **conversation.get("variables", {}))
    found = []
    plain = chat.render_jinja_template

    def tracked(**arguments):  # apply_chat_template keeps the spans to itself
        texts, spans = plain(**{**arguments, "return_assistant_tokens_mask": True})
        found.extend(spans)
        return texts, spans

    import transformers.tokenization_utils_base as base
    base.render_jinja_template = tracked
    try:
        return tokenizer.apply_chat_template(**given), found[0]
    finally:
        base.render_jinja_template = plain


VARIABLES = {
    "x": 1, "y": [1, 2, 3], "s": "  Hello Wörld  ", "d": {"a": 1, "b": [1, 2.5, None, True], "items": "clash"}, "n": None,
    "e": [], "f": 1.0, "m": [user("hi"), assistant("yo <b>"), user("é\n\"q\"")]}


def outcome_of_expression(template):
    def render():
        blocks, spans = [], []
        compiled = chat._cached_compile_jinja_template(template)
        with compiled.environment.activate_tracker(blocks, spans):
            for block in compiled.generate(**json.loads(json.dumps(VARIABLES))):
                blocks.append(block)
        return "".join(blocks), spans
    return outcome(render)


MARKS = ["<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "</s>", "<|END_OF_TURN_TOKEN|>"]
MASKED = {"qwen2": ["chatml-marked", "llama-3-marked", "smollm3", "command-r"], "llama3": ["chatml-marked", "llama-3-marked"],
          "metaspace": ["chatml-marked", "llama-3-marked"], "llama2": ["chatml-marked"]}


# Ids and masks of conversations that a template with marks renders, by a tokenizer with a few special tokens more.
def masks():
    result = {"marks": MARKS, "tokenizers": {}}
    for name, templates in MASKED.items():
        raw = Tokenizer.from_file(str(OUT.parent / "tokenizers" / name / "tokenizer.json"))
        raw.add_special_tokens(MARKS)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, **SPECIAL)
        for template in templates:
            cases = {}
            for i, one in enumerate(CONVERSATIONS[:7]):
                try:
                    made = tokenizer.apply_chat_template(
                        one["messages"], tools=one.get("tools"), chat_template=(OUT / f"{template}.jinja").read_text(),
                        return_dict=True, return_assistant_tokens_mask=True, **one.get("variables", {}))
                except Exception:
                    continue
                cases[str(i)] = {"ids": made["input_ids"], "mask": made["assistant_masks"]}
            result["tokenizers"].setdefault(name, {})[template] = cases
    return result


def main():
    templates = sorted(OUT.glob("*.jinja"))
    dump = lambda name, value: (OUT / name).write_text(json.dumps(value, ensure_ascii=False, indent=0) + "\n")
    dump("conversations.json", {"now": "2026-01-31T12:34:56", "special_tokens": SPECIAL, "conversations": CONVERSATIONS})
    dump("texts.json", {path.stem: [[outcome(lambda: rendered(path.read_text(), one, prompt)) for prompt in (False, True)]
                                       for one in CONVERSATIONS] for path in templates})
    (OUT / "masks.json").write_text(json.dumps(masks()) + "\n")
    lines = (OUT / "expressions.txt").read_text().split("\n====\n")
    dump("expressions.json", {"variables": VARIABLES, "cases": [{"template": t, **outcome_of_expression(t)} for t in lines]})


main()
