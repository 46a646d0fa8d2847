#!/usr/bin/env python3
"""Makes tests/golden/preference: short training runs with losses of preference data, in float64.

For developers only. It needs PyTorch and h5py. Model, adapter and recipe are those of the case llama-lora. The losses
are written from the source of TRL 1.16: DPOTrainer._compute_loss ("sigmoid"), with the label smoothing that TRL had
before version 1; ORPOTrainer.odds_ratio_loss beside the cross-entropy of chosen answers, which here counts answers
alone, as in the paper; CPOTrainer.cpo_loss ("simpo", cpo_alpha 0).

pairs.h5 has rows of T tokens, a chosen answer and a rejected one in turn, with labels of -100 outside of answers.
"""

import math
import pathlib
import sys

import h5py
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import make_golden
from golden_files import read_json, read_safetensors, write_json
from golden_models import llama_forward
from make_golden import HERE, train

CASE, FOLDER = HERE / "llama-lora", HERE / "preference"
PAIRS, STEPS, LENGTH = 4, 5, 40  # of a step
CURVES = {
    "dpo": {"type": "dpo", "beta": 0.3, "label_smoothing": 0.1},
    "orpo": {"type": "orpo", "beta": 0.4},
    "simpo": {"type": "simpo", "beta": 2.0, "simpo_gamma": 0.7, "label_smoothing": 0.05},
    "dpo-lora": {"type": "dpo", "beta": 0.5},
}


def fresh_pairs(vocabulary, generator):
    """Rows of tokens and labels. Some answers fill their row; prompts and answers differ in length."""
    def number(least, most):
        return int(torch.randint(least, most + 1, (1,), generator=generator))

    tokens, labels = [], []
    for pair in range(PAIRS * STEPS):
        prompt = torch.randint(vocabulary, (number(1, 12),), generator=generator).tolist()
        for _ in range(2):
            most = LENGTH - len(prompt)
            answer = torch.randint(vocabulary, (number(1, most) if pair % 3 else most,), generator=generator).tolist()
            fill = LENGTH - len(prompt) - len(answer)
            tokens += prompt + answer + [0] * fill
            labels += [-100] * len(prompt) + answer + [-100] * fill
    return torch.tensor(tokens + [0]), torch.tensor(labels + [-100])


def log_probs(logits, labels):
    """Of each label token, and where there is one."""
    there = labels != -100
    return logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0] * there, there


def log1mexp(x):
    return torch.log(-torch.expm1(x))


class PreferenceLoss:
    """A loss of (logits, labels) of one step after another; `reference`: sums of log-probabilities of all rows."""

    def __init__(self, options, reference):
        self.options, self.reference, self.metrics = options, reference, []

    def __call__(self, logits, labels):
        each, there = log_probs(logits, labels)
        sums, counts = each.sum(-1), there.sum(-1)
        beta, smoothing = self.options["beta"], self.options.get("label_smoothing", 0.0)
        if self.options["type"] == "dpo":
            rows = slice(len(self.metrics) * 2 * PAIRS, (len(self.metrics) + 1) * 2 * PAIRS)
            scores = sums - self.reference[rows]
        else:
            scores = sums / counts
        chosen, rejected = scores[0::2], scores[1::2]
        metrics = {"chosen": beta * chosen.mean(), "rejected": beta * rejected.mean(),
                   "accuracies": (chosen > rejected).double().mean()}
        self.metrics.append({name: float(x.detach()) for name, x in metrics.items()})
        if self.options["type"] == "orpo":
            log_odds = (chosen - rejected) - (log1mexp(chosen) - log1mexp(rejected))
            nll = -each[0::2].sum() / there[0::2].sum()
            return nll - (beta * F.logsigmoid(log_odds)).mean()
        z = beta * (chosen - rejected) - self.options.get("simpo_gamma", 0.0)
        return (-F.logsigmoid(z) * (1 - smoothing) - F.logsigmoid(-z) * smoothing).mean()


def adapted(scale):
    """The forward pass of a llama with low-rank adapters among its parameters."""
    def forward(config, p, tokens):
        weights = {name: w for name, w in p.items() if ".lora_" not in name}
        for name in [name for name in p if name.endswith(".lora_A.weight")]:
            module = name.removesuffix(".lora_A.weight")
            base = module.removeprefix("base_model.model.") + ".weight"
            weights[base] = weights[base] + scale * p[module + ".lora_B.weight"] @ p[name]
        return llama_forward(config, weights, tokens)
    return forward


def make(name, config, training, tokens, labels):
    weights = read_safetensors(CASE / "model.safetensors")
    recipe = dict(training)
    make_golden.FORWARD["llama"] = llama_forward
    if name.endswith("-lora"):
        keys = read_json(CASE / "adapter" / "adapter_config.json")
        weights |= read_safetensors(CASE / "adapter" / "adapter_model.safetensors")
        make_golden.FORWARD["llama"] = adapted(keys["lora_alpha"] / math.sqrt(keys["r"]))
        recipe["train_only"] = ["*.lora_?.weight"]
    at = torch.arange(2 * PAIRS * STEPS)[:, None] * LENGTH + torch.arange(LENGTH + 1)
    with torch.no_grad():
        start = {n: w.double() for n, w in weights.items()}
        logits = make_golden.FORWARD["llama"](config, start, tokens[at][:, :-1])
        reference = log_probs(logits, labels[at][:, 1:])[0].sum(-1)
    loss = PreferenceLoss(CURVES[name], reference)
    curve, _, _ = train(config, recipe | {"global_batch": 2 * PAIRS}, weights, tokens, labels=labels, loss_of=loss)
    steps = [step | {"rewards": rewards} for step, rewards in zip(curve["steps"], loss.metrics)]
    print(name, steps[0]["loss"], steps[-1]["loss"], steps[-1]["rewards"], flush=True)
    return {"loss": CURVES[name], "steps": steps}


def main():
    torch.set_num_threads(1)
    config, training = read_json(CASE / "config.json"), read_json(CASE / "expected.json")["training"]
    training |= {"steps": STEPS, "seq_length": LENGTH, "warmup": 1}
    generator = torch.Generator().manual_seed(400)
    tokens, labels = fresh_pairs(config["vocab_size"], generator)
    FOLDER.mkdir(exist_ok=True)
    with h5py.File(FOLDER / "pairs.h5", "w") as file:
        file["tokens"], file["labels"] = tokens.to(torch.int32).numpy(), labels.to(torch.int32).numpy()
    write_json(FOLDER / "curves.json", {name: make(name, config, training, tokens, labels) for name in CURVES})


if __name__ == "__main__":
    main()
