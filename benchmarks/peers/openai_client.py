# SPDX-License-Identifier: Apache-2.0
"""The official openai client against a running `triax serve`.

    python3 -m venv peers && peers/bin/pip install openai
    peers/bin/python benchmarks/peers/openai_client.py runs/serve/endpoint.json

Prints what does not hold, and how much did. Status 1 if anything did not.
"""

import sys

sys.path.pop(0)  # this folder's tokenize.py is not Python's
import asyncio  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import time  # noqa: E402

import openai  # noqa: E402

endpoint = json.load(open(sys.argv[1]))
URL, KEY = endpoint["url"], endpoint.get("api_key", "none")
client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
# Types of replies are checked; streamed completions and first log-probabilities have nulls that OpenAI's types lack.
strict = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0, _strict_response_validation=True)
held, failed = 0, 0


def check(holds, what):
    global held, failed
    held, failed = held + bool(holds), failed + (not holds)
    if not holds:
        print("does not hold:", what)


def fails(kind, call, **fields):
    try:
        call()
    except kind as error:
        for name, value in fields.items():
            check(getattr(error, name) == value, f"{kind.__name__}.{name} is {getattr(error, name)}")
    else:
        check(False, f"{fields} is refused")


def errors(model):
    fails(openai.NotFoundError, lambda: client.models.retrieve("no/such"), code="model_not_found")
    fails(openai.NotFoundError, lambda: client.completions.create(model="x", prompt="a"), param="model")
    for field, value in {"temperature": 3, "top_p": 0, "n": 0, "stop": [""], "logprobs": 99}.items():
        fails(openai.BadRequestError,
              lambda: client.completions.create(model=model, prompt="a", **{field: value}), param=field)
    fails(openai.BadRequestError, lambda: client.completions.create(model=model, prompt="a" * 10**6),
          code="context_length_exceeded")
    if KEY != "none":
        wrong = openai.OpenAI(base_url=URL, api_key="wrong", max_retries=0)
        fails(openai.AuthenticationError, wrong.models.list, code="invalid_api_key")


def prompts(model):
    for prompt, count in (("ab", 1), (["ab", "cd"], 2), ([1, 2, 3], 1), ([[1, 2], [3]], 2)):
        reply = strict.completions.create(model=model, prompt=prompt, max_tokens=3)
        check(len(reply.choices) == count, f"answers to {prompt}")
    reply = strict.completions.create(model=model, prompt=["a", "b"], n=3, max_tokens=2)
    check([choice.index for choice in reply.choices] == list(range(6)), "indices of 2 prompts x 3")


def streams(model, seeds):
    for seed in range(seeds):
        request = {"model": model, "prompt": "The licence žluť 中文 ", "max_tokens": 24, "seed": seed,
                   "temperature": 1.2, "stop": ["e", "th"]}
        plain = strict.completions.create(**request)
        events = list(client.completions.create(**request, stream=True, stream_options={"include_usage": True}))
        choices = [event.choices[0] for event in events if event.choices]
        text = "".join(choice.text for choice in choices)
        check(text == plain.choices[0].text, f"the streamed text of seed {seed} is the plain one")
        check(choices[-1].finish_reason == plain.choices[0].finish_reason, "finish_reason")
        check(events[-1].usage == plain.usage, "usage")
        check("e" not in text and "th" not in text, f"no stop text in {text!r}")


def scores(model):
    request = {"model": model, "echo": True, "logprobs": 5, "temperature": 0}
    answered = client.completions.create(prompt="The licence", max_tokens=8, **request).choices[0]
    scored = client.completions.create(prompt=answered.text, max_tokens=0, **request).choices[0]
    check(scored.logprobs.token_logprobs[0] is None, "the first token has no log-probability")
    if scored.logprobs.tokens == answered.logprobs.tokens:
        pairs = zip(answered.logprobs.token_logprobs[1:], scored.logprobs.token_logprobs[1:])
        check(all(abs(a - b) < 1e-3 for a, b in pairs), "an answer's log-probabilities are those of its scoring")


def chats(model):
    request = {"model": model, "messages": [{"role": "user", "content": "Hello, žluť"}], "max_tokens": 12, "seed": 1,
               "logprobs": True, "top_logprobs": 2}
    try:
        plain = strict.chat.completions.create(**request)
    except openai.BadRequestError as error:
        check(error.code == "no_chat_template", "a model without a template says so")
        return
    content = plain.choices[0].logprobs.content
    joined = bytes(byte for token in content for byte in token.bytes)
    check(joined.decode(errors="replace") == plain.choices[0].message.content, "bytes of tokens are the text's")
    events = list(strict.chat.completions.create(**request, stream=True))
    check(events[0].choices[0].delta.role == "assistant", "the first event has the role")
    text = "".join(event.choices[0].delta.content or "" for event in events)
    check(text == plain.choices[0].message.content, "the streamed message is the plain one")
    check(len({(event.id, event.created) for event in events}) == 1, "id and created are the same in all events")
    fails(openai.BadRequestError, lambda: client.chat.completions.create(model=model, messages=[]), param="messages")


def embeddings(model):
    """Vectors of texts, which the client asks for as base64."""
    texts = ["The licence", "žluť", "The licence"]
    for pooling in ("mean", "last"):
        request = {"model": model, "input": texts, "extra_body": {"pooling": pooling}}
        reply = strict.embeddings.create(**request)
        vectors = [one.embedding for one in reply.data]
        check([one.index for one in reply.data] == [0, 1, 2] and vectors[0] == vectors[2] != vectors[1], "vectors")
        check(all(abs(sum(x * x for x in vector) - 1) < 1e-5 for vector in vectors), "of length 1")
        plain = client.embeddings.create(**request, encoding_format="float")
        close = [abs(a - b) < 1e-6 for i in range(3) for a, b in zip(vectors[i], plain.data[i].embedding)]
        check(close and all(close), "base64 and floats are the same")
        check(reply.usage.prompt_tokens == plain.usage.total_tokens > 0, "usage")
    fails(openai.BadRequestError, lambda: client.embeddings.create(model=model, input="a", dimensions=3),
          param="dimensions")


def forms(model):
    """Answers of a given form."""
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"},
                                               "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}},
              "required": ["name", "age", "tags"], "additionalProperties": False}
    for seed in range(20):
        request = {"model": model, "prompt": "A person: ", "max_tokens": 200, "seed": seed, "temperature": 1.5}
        text = client.completions.create(**request, extra_body={"guided_choice": ["yes", "no", "ne"]}).choices[0].text
        check(text in ("yes", "no", "ne"), f"{text!r} is one of the choices")
        text = client.completions.create(**request, extra_body={"guided_regex": "[a-f]{3}-\\d+ž"}).choices[0].text
        check(re.fullmatch("[a-f]{3}-[0-9]+ž", text), f"{text!r} matches")
        choice = client.completions.create(**request, extra_body={"guided_json": schema}).choices[0]
        if choice.finish_reason == "stop":
            person = json.loads(choice.text)
            check(list(person) == ["name", "age", "tags"] and isinstance(person["age"], int), f"{person} is valid")
        events = client.completions.create(**request, extra_body={"guided_json": schema}, stream=True)
        check("".join(event.choices[0].text for event in events) == choice.text, "a stream has the same form")
    fails(openai.BadRequestError, lambda: client.completions.create(
        model=model, prompt="a", extra_body={"guided_json": {"oneOf": []}}), param="guided_json")


def calls(model):
    """Functions that the model may call, where its template has them."""
    parameters = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    request = {"model": model, "messages": [{"role": "user", "content": "Weather in Brno?"}], "tools": tools,
               "max_tokens": 200, "seed": 1, "tool_choice": {"type": "function", "function": {"name": "weather"}}}
    try:
        choice = strict.chat.completions.create(**request).choices[0]
    except openai.BadRequestError as error:
        check(error.code in ("no_chat_template", "unsupported_parameter"), f"a model without tools says so: {error}")
        return
    check(choice.finish_reason == "tool_calls" and choice.message.content is None, "the answer is a call")
    call = choice.message.tool_calls[0]
    check(call.function.name == "weather" and "city" in json.loads(call.function.arguments), "of the function")
    parts = [part for event in strict.chat.completions.create(**request, stream=True)
             for part in event.choices[0].delta.tool_calls or []]
    check([(part.id, part.function.name, part.function.arguments) for part in parts] ==
          [(call.id, call.function.name, call.function.arguments)], "a stream has the same call")
    request["messages"] += [choice.message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
    request["tool_choice"] = "none"
    check(strict.chat.completions.create(**request).choices[0].message.content, "an answer to the call's result")


async def crowd(model, clients):
    client = openai.AsyncOpenAI(base_url=URL, api_key=KEY)
    begun = time.time()
    replies = await asyncio.gather(*[
        client.completions.create(model=model, prompt="The ", max_tokens=4, seed=i % 4) for i in range(clients)])
    texts = {(i % 4, reply.choices[0].text) for i, reply in enumerate(replies)}
    check(len(texts) == 4, "the same seed gives the same text in any company")
    print(f"{clients} requests at once: {time.time() - begun:.2f} s")


def main():
    model = client.models.list().data[0].id
    check(strict.models.retrieve(model).id == model, "the model's entry")
    errors(model)
    prompts(model)
    streams(model, 200)
    scores(model)
    chats(model)
    embeddings(model)
    forms(model)
    calls(model)
    with client.completions.create(model=model, prompt="a", max_tokens=100, stream=True) as stream:
        next(iter(stream))  # and leave
    asyncio.run(crowd(model, 64))
    print(f"openai {openai.__version__}: {held} checks hold, {failed} do not")
    sys.exit(failed > 0)


main()
