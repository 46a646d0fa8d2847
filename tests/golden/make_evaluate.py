#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers of lm-evaluation-harness to small tasks, for tests/evaluate; and a live judge.

    make_evaluate.py write            writes tests/golden/evaluate: two random models with their tokenizers, and answers.json
    make_evaluate.py check TRIAX...   compares `TRIAX... evaluate` with the harness on other weights and texts

TRIAX may be a command line, such as: mpiexec -n 4 build/src/triax. The harness's own code (lm_eval 0.4.13) makes pairs, prefixes
and rolling windows (TemplateLM, utils); models are computed by NumPy in float64, so that no torch is needed: `pip install
--no-deps lm-eval`, numpy, tokenizers, safetensors, and what lm_eval.utils imports (requests, pyyaml, jinja2, tqdm). What its
class HFLM adds to TemplateLM (prefix token, cuts from the left, stops) is written out in NumpyLM.
"""
import json
import math
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile

import numpy as np
from lm_eval import utils
from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTH, STRIDE, NEW_TOKENS = 48, 20, 12

CORPUS = [
    "The step of a training run is a list of instructions, built once and proved before it runs.",
    "Every rank of a stage gets the same list, so collectives come in the same order on all of them.",
    "A question: which of the answers follows? An answer: the likeliest, by the sum of its logarithms.",
    "In the morning the ferry crosses the lake; in the evening it comes back with apples and letters.",
    "Das Schiff fährt über den See, und am Abend kommt es zurück. Une lettre, deux pommes, trois œufs.",
]

DOCUMENTS = [
    "The ferry crosses the lake.",
    "Every rank gets the same list of instructions, and runs it from the first to the last of them. "
    "A step is data: it is printed, priced, traced and run, so that what is predicted is what happens.\n\n"
    "  An indented line\twith a tab, and words   apart. Über den See, œufs — and 😀 beyond the plane.",
    "x",
    " leading and trailing white space \n",
    "Letters and apples. " * 12,
]

CHOICES = [
    {"context": "In the evening the ferry", "choices": ["comes back with apples", "is a list", "proved before"], "answer": 0},
    {"context": "A question: which of the answers follows?\nAnswer:", "choices": ["the likeliest", "œufs", "a", "letters"], "answer": 3},
    {"context": "white space at the end of the context \t ", "choices": ["moves", "stays"], "answer": 1},
    {"context": "", "choices": ["The lake", "Das Schiff fährt über den See"], "answer": 1},
    {"context": "The context is longer than a sequence of the model. " * 6, "choices": ["so that it is cut", "or not"], "answer": 0},
]

PROMPTS = [
    {"prompt": "The ferry", "stop": ["e"]},
    {"prompt": "Every rank of a stage gets the same", "stop": "zzz"},
    {"prompt": "A prompt that is longer than the room that the new tokens leave to it. " * 4, "max_tokens": 5},
    {"prompt": "An answer:"},
]


def train_tokenizer(directory, begins):
    """A byte-level BPE of 320 tokens; `begins`: with BOS in front of texts, as Llama 3."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>"] if begins else ["<|endoftext|>"]
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    tokenizer.save(f"{directory}/tokenizer.json")
    write_json(f"{directory}/tokenizer_config.json",
               {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": special[0], "eos_token": special[-1]})


def write_json(path, content):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1, ensure_ascii=False)
        file.write("\n")


CONFIGS = {
    "llama": {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 320, "hidden_size": 32,
              "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
              "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
              "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 1},
    "gpt2": {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 320, "n_embd": 32, "n_layer": 3,
             "n_head": 4, "n_positions": 64, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
             "tie_word_embeddings": True, "bos_token_id": 0, "eos_token_id": 0},
}


def shapes(family):
    """Names and shapes of the tensors, Hugging Face's."""
    if family == "llama":
        out = {"model.embed_tokens.weight": (320, 32), "model.norm.weight": (32,), "lm_head.weight": (320, 32)}
        for i in range(3):
            at = f"model.layers.{i}."
            out |= {at + "input_layernorm.weight": (32,), at + "post_attention_layernorm.weight": (32,),
                    at + "self_attn.q_proj.weight": (32, 32), at + "self_attn.k_proj.weight": (16, 32),
                    at + "self_attn.v_proj.weight": (16, 32), at + "self_attn.o_proj.weight": (32, 32),
                    at + "mlp.gate_proj.weight": (48, 32), at + "mlp.up_proj.weight": (48, 32), at + "mlp.down_proj.weight": (32, 48)}
        return out
    out = {"transformer.wte.weight": (320, 32), "transformer.wpe.weight": (64, 32),
           "transformer.ln_f.weight": (32,), "transformer.ln_f.bias": (32,)}
    for i in range(3):
        at = f"transformer.h.{i}."
        for name, shape in (("ln_1", (32,)), ("ln_2", (32,)), ("attn.c_attn", (32, 96)), ("attn.c_proj", (32, 32)),
                            ("mlp.c_fc", (32, 128)), ("mlp.c_proj", (128, 32))):
            out |= {at + name + ".weight": shape, at + name + ".bias": shape[-1:]}
    return out


def make_model(directory, family, seed):
    """A random model in float32, and its tokenizer."""
    os.makedirs(directory, exist_ok=True)
    train_tokenizer(directory, family == "llama")
    draw = np.random.default_rng(seed)
    weights = {}
    for name, shape in shapes(family).items():
        norm = "norm" in name or ".ln_" in name
        weights[name] = (draw.normal(size=shape) * 0.25 + (norm and name.endswith("weight"))).astype(np.float32)
    save_file(weights, f"{directory}/model.safetensors", metadata={"format": "pt"})
    write_json(f"{directory}/config.json", CONFIGS[family])


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v):
    """(T, heads, size) each; causal."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[2])
    scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    return np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(len(q), -1)


def llama_logits(w, ids):
    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[name]

    def rotate(x):
        angles = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(4) / 4)
        cos, sin = (np.concatenate([f(angles)] * 2, -1)[:, None] for f in (np.cos, np.sin))
        return x * cos + np.concatenate([-x[..., 4:], x[..., :4]], -1) * sin

    x = w["model.embed_tokens.weight"][ids]
    for i in range(3):
        at = f"model.layers.{i}."
        h = norm(x, at + "input_layernorm.weight")
        q, k, v = ((h @ w[at + f"self_attn.{n}_proj.weight"].T).reshape(len(ids), -1, 8) for n in "qkv")
        x = x + attend(rotate(q), rotate(k), v) @ w[at + "self_attn.o_proj.weight"].T
        h = norm(x, at + "post_attention_layernorm.weight")
        gate = h @ w[at + "mlp.gate_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w[at + "mlp.up_proj.weight"].T)) @ w[at + "mlp.down_proj.weight"].T
    return norm(x, "model.norm.weight") @ w["lm_head.weight"].T


def gpt2_logits(w, ids):
    def linear(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"] + w[name + ".bias"]

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: len(ids)]
    for i in range(3):
        at = f"transformer.h.{i}."
        q, k, v = (part.reshape(len(ids), 4, 8) for part in np.split(linear(norm(x, at + "ln_1"), at + "attn.c_attn"), 3, -1))
        x = x + linear(attend(q, k, v), at + "attn.c_proj")
        h = linear(norm(x, at + "ln_2"), at + "mlp.c_fc")
        x = x + linear(0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3))), at + "mlp.c_proj")
    return norm(x, "transformer.ln_f") @ w["transformer.wte.weight"].T


class NumpyLM(TemplateLM):
    """HFLM (lm_eval/models/huggingface.py) with a model in NumPy, in float64."""

    def __init__(self, directory):
        super().__init__()
        with open(f"{directory}/config.json", encoding="utf-8") as file:
            config = json.load(file)
        self.weights = {name: w.astype(np.float64) for name, w in load_file(f"{directory}/model.safetensors").items()}
        self.logits = {"llama": llama_logits, "gpt2": gpt2_logits}[config["model_type"]]
        self.tokenizer = Tokenizer.from_file(f"{directory}/tokenizer.json")
        self.prefix, self.end = config["bos_token_id"], config["eos_token_id"]
        self.backend = "causal"

    @property
    def eot_token_id(self):
        return self.end

    @property
    def prefix_token_id(self):
        return self.prefix

    def tok_encode(self, string, add_special_tokens=None, **kwargs):
        if add_special_tokens is None:
            add_special_tokens = not string.startswith(self.tokenizer.decode([self.prefix], skip_special_tokens=False))
        return self.tokenizer.encode(string, add_special_tokens=add_special_tokens).ids

    def _loglikelihood_tokens(self, requests, **kwargs):
        answers = []
        for _, context, continuation in requests:
            assert context and continuation and len(continuation) <= LENGTH
            logits = self.logits(self.weights, (context + continuation)[-(LENGTH + 1):][:-1])[-len(continuation):]
            logits = logits - logits.max(-1, keepdims=True)
            logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
            answers.append((float(logits[np.arange(len(continuation)), continuation].sum()), False))
        return answers

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        return [sum(windows_loglikelihood(self, self.prefix, self.tok_encode(r.args[0]), LENGTH)) for r in requests]

    def generate_until(self, requests, disable_tqdm=False):
        return [self.generate(*r.args) for r in requests]

    def generate(self, prompt, options):
        until = options["until"] + [self.tokenizer.decode([self.end], skip_special_tokens=False)]
        context = self.tok_encode(prompt)[-(LENGTH - options["max_gen_toks"]):]
        made = []
        while len(made) < options["max_gen_toks"]:
            made.append(int(self.logits(self.weights, context + made)[-1].argmax()))
            text = self.tokenizer.decode(made, skip_special_tokens=False)
            if any(stop in text for stop in until):
                break
        text = self.tokenizer.decode(made, skip_special_tokens=True)
        for stop in until:
            text = text.split(stop)[0] if stop else text
        return text


def write_lines(path, objects):
    with open(path, "w", encoding="utf-8") as file:
        for one in objects:
            file.write(json.dumps(one, ensure_ascii=False) + "\n")


def write_hellaswag(path, examples):
    """llm.c's evaluation file: dev/data/data_common.py, write_evalfile."""
    stream, longest = [], 0
    for index, (label, context, endings) in enumerate(examples):
        one = [65535, 0, index, label, len(endings), len(context), *context]
        for ending in endings:
            one += [len(ending), *ending]
        one[1] = 2 * len(one)
        longest = max(longest, one[1])
        stream += one
    header = [20240522, 1, len(examples), longest] + [0] * 252
    with open(path, "wb") as file:
        file.write(struct.pack("<256i", *header) + struct.pack(f"<{len(stream)}H", *stream))


def write_tokens(path, tokens):
    header = [20240520, 1, len(tokens)] + [0] * 253
    with open(path, "wb") as file:
        file.write(struct.pack("<256i", *header) + struct.pack(f"<{len(tokens)}H", *tokens))


def ask(function, kind, arguments):
    return function([Instance(request_type=kind, doc={}, arguments=a, idx=i) for i, a in enumerate(arguments)])


def argmax(values):
    return max(range(len(values)), key=lambda i: (values[i], -i))


def means(name, values):
    """With mean_stderr of lm_eval/api/metrics.py."""
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in values) / (len(values) - 1))
    return {name: mean, name + "_stderr": deviation / math.sqrt(len(values))}


def windows_loglikelihood(lm, prefix, tokens, stride):
    """Sum over the harness's windows, of context_len such that each later one scores `stride` tokens."""
    windows = list(map(utils.make_disjoint_window, utils.get_rolling_token_windows(
        token_list=tokens, prefix_token=prefix, max_seq_len=LENGTH, context_len=LENGTH - stride + 1)))
    return [a[0] for a in lm._loglikelihood_tokens([(None,) + w for w in windows], disable_tqdm=True)]


def perplexities(documents, loglikelihoods, tokens):
    total = sum(loglikelihoods)
    words = sum(len(re.split(r"\s+", d)) for d in documents)
    size = sum(len(d.encode("utf-8")) for d in documents)
    return {"tokens": tokens, "loss": -total / tokens, "perplexity": math.exp(-total / tokens), "words": words, "bytes": size,
            "word_perplexity": math.exp(-total / words), "byte_perplexity": math.exp(-total / size),
            "bits_per_byte": -total / size / math.log(2)}


def answers_of_choices(lm, choices):
    pairs = [(c["context"], " " + choice) for c in choices for choice in c["choices"]]
    flat = [a[0] for a in ask(lm.loglikelihood, "loglikelihood", pairs)]
    sums, hits, norms, sizes = [], [], [], []
    for one in choices:
        own, flat = flat[:len(one["choices"])], flat[len(one["choices"]):]
        sums.append(own)
        hits.append(float(argmax(own) == one["answer"]))
        norms.append(float(argmax([s / len(c) for s, c in zip(own, one["choices"])]) == one["answer"]))
        sizes.append(float(argmax([s / len(c.encode("utf-8")) for s, c in zip(own, one["choices"])]) == one["answer"]))
    return {"loglikelihoods": sums, **means("acc", hits), **means("acc_norm", norms), **means("acc_bytes", sizes)}


def answers_of_hellaswag(lm, examples):
    sums, hits, norms = [], [], []
    for label, context, endings in examples:
        own = [a[0] for a in lm._loglikelihood_tokens([(None, context, e) for e in endings], disable_tqdm=True)]
        sums.append(own)
        hits.append(float(argmax(own) == label))
        norms.append(float(argmax([s / len(e) for s, e in zip(own, endings)]) == label))
    return {"loglikelihoods": sums, **means("acc", hits), **means("acc_norm", norms)}


def generated(lm, prompts):
    texts = []
    for one in prompts:
        stop = one.get("stop", [])
        options = {"until": [stop] if isinstance(stop, str) else stop, "max_gen_toks": one.get("max_tokens", NEW_TOKENS), "do_sample": False}
        texts += ask(lm.generate_until, "generate_until", [(one["prompt"], options)])
    return texts


def write_case(directory, documents, choices, prompts):
    """Writes the inputs of the tasks beside the model and returns the harness's answers."""
    lm = NumpyLM(directory)
    encode = lm.tok_encode
    write_lines(f"{directory}/documents.jsonl", [{"text": d} for d in documents])
    write_lines(f"{directory}/choices.jsonl", choices)
    examples = [(c["answer"], encode(c["context"] or "A"), [encode(" " + e, add_special_tokens=False) for e in c["choices"]]) for c in choices]
    write_hellaswag(f"{directory}/hellaswag.bin", examples)
    tokens = [t for d in documents for t in encode(d)]
    write_tokens(f"{directory}/tokens.bin", tokens)
    texts = generated(lm, prompts)
    answers = [t if i % 2 == 0 else [t.upper() + " ", "no"] for i, t in enumerate(texts)]
    write_lines(f"{directory}/prompts.jsonl", [{**p, "answer": a} for p, a in zip(prompts, answers)])
    rolling = ask(lm.loglikelihood_rolling, "loglikelihood_rolling", [(d,) for d in documents])
    strided = [sum(windows_loglikelihood(lm, lm.prefix_token_id, encode(d), STRIDE)) for d in documents]
    count = sum(len(encode(d)) for d in documents)
    return {"documents": {"loglikelihoods": rolling, **perplexities(documents, rolling, count)},
            "strided": {"loglikelihoods": strided, **perplexities(documents, strided, count)},
            "tokens": {"windows": windows_loglikelihood(lm, tokens[0], tokens[1:], STRIDE)},
            "choices": answers_of_choices(lm, choices), "hellaswag": answers_of_hellaswag(lm, examples),
            "prompts": {"texts": texts, **means("exact_match", [float(i % 2 == 0) for i in range(len(prompts))])}}


def write():
    expected = {"length": LENGTH, "stride": STRIDE, "max_tokens": NEW_TOKENS}
    for family in ("llama", "gpt2"):
        directory = f"{HERE}/evaluate/{family}"
        make_model(directory, family, 5)
        expected[family] = write_case(directory, DOCUMENTS, CHOICES, PROMPTS)
    write_json(f"{HERE}/evaluate/answers.json", expected)


def triax_scores(command, directory, arguments):
    with tempfile.TemporaryDirectory() as scores:
        path = f"{scores}/scores.jsonl"
        out = subprocess.run([*command, "evaluate", directory, *arguments, "--seq-length", str(LENGTH), "--scores", path, "--json"],
                             check=True, stdout=subprocess.PIPE).stdout
        with open(path, encoding="utf-8") as file:
            return json.loads(out)["results"][0], [json.loads(line) for line in file][1:]


def by_document(scores):
    sums = {}
    for one in scores:
        sums[one["document"]] = sums.get(one["document"], 0.0) + one["loglikelihood"]
    return list(sums.values())


class Judge:
    def __init__(self):
        self.largest, self.compared = 0.0, 0

    def numbers(self, what, found, expected):
        assert len(found) == len(expected), (what, len(found), len(expected))
        for f, e in zip(found, expected):
            difference = abs(f - e) / max(1.0, abs(e))
            assert difference < 1e-4, (what, f, e)
            self.largest, self.compared = max(self.largest, difference), self.compared + 1

    def results(self, found, expected):
        for name, value in expected.items():
            if isinstance(value, (int, float)):
                self.numbers(name, [found[name]], [value])


def check(command):
    judge = Judge()
    words = sorted({w for text in CORPUS for w in text.split()})
    draw = np.random.default_rng(17)

    def text(count):
        return " ".join(words[int(i)] for i in draw.integers(len(words), size=count))

    documents = DOCUMENTS + [text(1 + 3 * i) for i in range(40)]
    choices = CHOICES + [{"context": text(1 + i % 30), "choices": [text(1 + (i + j) % 4) for j in range(4)], "answer": i % 4} for i in range(60)]
    prompts = PROMPTS + [{"prompt": text(1 + i), "stop": ["a", "\n"][i % 2]} for i in range(20)]
    for family in ("llama", "gpt2"):
        with tempfile.TemporaryDirectory() as directory:
            make_model(directory, family, 23)
            expected = write_case(directory, documents, choices, prompts)
            found, scores = triax_scores(command, directory, ["--data", f"{directory}/documents.jsonl"])
            judge.numbers("rolling", by_document(scores), expected["documents"]["loglikelihoods"])
            judge.results(found, expected["documents"])
            _, scores = triax_scores(command, directory, ["--data", f"{directory}/documents.jsonl", "--stride", str(STRIDE)])
            judge.numbers("strided", by_document(scores), expected["strided"]["loglikelihoods"])
            _, scores = triax_scores(command, directory, ["--data", f"{directory}/tokens.bin", "--stride", str(STRIDE)])
            judge.numbers("tokens", [s["loglikelihood"] for s in scores], expected["tokens"]["windows"])
            for name, file in (("choices", "choices.jsonl"), ("hellaswag", "hellaswag.bin")):
                found, scores = triax_scores(command, directory, ["--task", f"{directory}/{file}"])
                for score, sums in zip(scores, expected[name]["loglikelihoods"]):
                    judge.numbers(name, score["loglikelihoods"], sums)
                judge.results(found, expected[name])
            found, scores = triax_scores(command, directory, ["--task", f"{directory}/prompts.jsonl", "--max-tokens", str(NEW_TOKENS)])
            assert [s["generated"] for s in scores] == expected["prompts"]["texts"]
            judge.results(found, expected["prompts"])
    print(f"{judge.compared} numbers agree with lm-evaluation-harness, the largest relative difference is {judge.largest:.1e}")


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        write()
    elif len(sys.argv) > 2 and sys.argv[1] == "check":
        check([word for argument in sys.argv[2:] for word in shlex.split(argument)])
    else:
        sys.exit(__doc__)
