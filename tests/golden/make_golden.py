#!/usr/bin/env python3
"""Makes and re-checks the golden cases: short training runs in float64 that triax must reproduce.

For developers only: neither the program nor its tests run this. It needs PyTorch and nothing else.

    make_golden.py check [CASE...]   run each case again from its own files and compare every number
    make_golden.py make [CASE...]    write the cases of the table CASES afresh (weights, tokens, results)
    make_golden.py gradients         write gradients.json of the three given cases

`make` and `gradients` begin with `check` on the given cases, which were made by other hands: they pin the
training recipe (loss, optimizer, schedule, clipping, order of the samples) that this program then applies.
"""

import argparse
import math
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import torch
import torch.nn.functional as F

from golden_files import read_json, read_safetensors, read_tokens, write_json, write_safetensors, write_tokens
from golden_models import FORWARD, SHAPES

HERE = Path(__file__).resolve().parent
GIVEN = ("gpt2-tiny", "llama-tiny", "qwen2-tiny")  # not ours to rewrite
TOLERANCE = 1e-9  # relative, on every number: both sides are float64 and differ in the order of sums only

RECIPE = {"lr": 2e-3, "min_lr": 2e-4, "warmup": 4, "schedule": "cosine", "betas": [0.9, 0.95], "eps": 1e-8,
          "weight_decay": 0.1, "clip": 1.0, "steps": 20}


@dataclass(frozen=True)
class Case:
    seed: int
    config: dict  # config.json, Hugging Face's keys
    training: dict  # "training" of expected.json


CASES = {
    # Vocabulary and sequence length that no number of ranks divides; 6 layers for 3 stages, 6 heads for 3 tensor ranks.
    "gpt2-odd": Case(101, {
        "model_type": "gpt2", "n_layer": 6, "n_head": 6, "n_embd": 48, "n_positions": 40, "n_inner": 120,
        "vocab_size": 131, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
        "tie_word_embeddings": False,
    }, RECIPE | {"global_batch": 12, "seq_length": 33}),
    # The MLP's width is not divisible by 3 though heads, KV heads and hidden size are; tied embedding.
    "llama-odd": Case(102, {
        "model_type": "llama", "num_hidden_layers": 6, "num_attention_heads": 6, "num_key_value_heads": 3,
        "hidden_size": 48, "head_dim": 8, "intermediate_size": 100, "vocab_size": 101, "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0, "tie_word_embeddings": True, "max_position_embeddings": 40, "hidden_act": "silu",
    }, RECIPE | {"global_batch": 12, "seq_length": 30}),
    # Six query heads to a KV head, 5 layers (no even split over stages); every optimizer number differs from the
    # other cases, the clip bites at every step, and the learning rate is constant.
    "qwen2-odd": Case(103, {
        "model_type": "qwen2", "num_hidden_layers": 5, "num_attention_heads": 12, "num_key_value_heads": 2,
        "hidden_size": 48, "intermediate_size": 70, "vocab_size": 97, "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0, "tie_word_embeddings": False, "max_position_embeddings": 24, "hidden_act": "silu",
    }, RECIPE | {"lr": 1e-3, "min_lr": 1e-3, "warmup": 0, "schedule": "constant", "betas": [0.85, 0.98],
                 "eps": 1e-6, "weight_decay": 0.3, "clip": 0.3, "global_batch": 12, "seq_length": 24}),
    # Rotary positions scaled as in Llama 3.1: of the 8 pairs of a head one turns as it did, two turn a little slower
    # and five a sixth as fast, which shows within 30 positions.
    "llama-scaled": Case(105, {
        "model_type": "llama", "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
        "hidden_size": 36, "head_dim": 16, "intermediate_size": 50, "vocab_size": 61, "rms_norm_eps": 1e-5,
        "rope_theta": 2000.0,
        "rope_scaling": {"rope_type": "llama3", "factor": 6.0, "low_freq_factor": 0.8, "high_freq_factor": 5.0,
                         "original_max_position_embeddings": 64},
        "tie_word_embeddings": True, "max_position_embeddings": 128, "hidden_act": "silu",
    }, RECIPE | {"global_batch": 8, "seq_length": 30}),
    # Every linear map has a bias; all rotary positions are scaled alike.
    "llama-biased": Case(106, {
        "model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
        "hidden_size": 32, "intermediate_size": 44, "vocab_size": 55, "rms_norm_eps": 1e-6, "attention_bias": True,
        "mlp_bias": True, "rope_theta": 10000.0, "rope_scaling": {"rope_type": "linear", "factor": 2.5},
        "tie_word_embeddings": False, "max_position_embeddings": 40, "hidden_act": "silu",
    }, RECIPE | {"global_batch": 8, "seq_length": 20}),
    # YaRN: of the 6 pairs of a head one turns as it did, three are slowed in part and two to a fifth; cosines and sines
    # are larger by 16%. Trained on sequences beyond the original context.
    "llama-yarn": Case(107, {
        "model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "hidden_size": 40, "head_dim": 12, "intermediate_size": 52, "vocab_size": 59, "rms_norm_eps": 1e-5,
        "rope_theta": 20.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 5.0, "original_max_position_embeddings": 40},
        "tie_word_embeddings": False, "max_position_embeddings": 200, "hidden_act": "silu",
    }, RECIPE | {"global_batch": 8, "seq_length": 44}),
    # z-loss, whose share of the gradient is large.
    "llama-z-loss": Case(108, {
        "model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "hidden_size": 32, "intermediate_size": 44, "vocab_size": 67, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": True, "max_position_embeddings": 40, "hidden_act": "silu",
    }, RECIPE | {"z_coefficient": 0.05, "global_batch": 8, "seq_length": 20}),
    # Frozen: the tied embedding, so that block 0 has no backward pass; the MLP of block 2, biases whose weights are
    # trained, and the reverse.
    "gpt2-frozen": Case(108, {
        "model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 24, "n_positions": 24, "n_inner": 60,
        "vocab_size": 61, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
        "tie_word_embeddings": True,
    }, RECIPE | {"global_batch": 8, "seq_length": 20,
                 "freeze": ["transformer.wte", "transformer.wpe", "transformer.h.0", "transformer.h.2.mlp",
                            "*.ln_1.bias", "transformer.h.1.attn.c_attn.weight", "transformer.h.3.attn.c_proj.bias"]}),
    # Trained: biases, of which the first are block 0's, the MLP of block 1, and some norms.
    "qwen2-frozen": Case(109, {
        "model_type": "qwen2", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
        "hidden_size": 24, "intermediate_size": 36, "vocab_size": 53, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "tie_word_embeddings": False, "max_position_embeddings": 24, "hidden_act": "silu",
    }, RECIPE | {"global_batch": 8, "seq_length": 20,
                 "train_only": ["*.bias", "model.norm", "model.layers.1.mlp", "model.layers.[13].input_layernorm"]}),
    # Trained: the two vocabulary matrices, through blocks of which nothing is trained.
    "llama-frozen": Case(110, {
        "model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
        "hidden_size": 24, "intermediate_size": 36, "vocab_size": 53, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": False, "max_position_embeddings": 24, "hidden_act": "silu",
    }, RECIPE | {"global_batch": 8, "seq_length": 20, "train_only": ["model.embed_tokens.*", "lm_head.weight"]}),
    # Few, wide heads; an MLP that is not 4 x n_embd; cosine from the first step, down to zero.
    "gpt2-deep": Case(104, {
        "model_type": "gpt2", "n_layer": 3, "n_head": 2, "n_embd": 32, "n_positions": 16, "n_inner": 80,
        "vocab_size": 50, "layer_norm_epsilon": 1e-6, "activation_function": "gelu_new",
        "tie_word_embeddings": True,
    }, RECIPE | {"lr": 3e-3, "min_lr": 0.0, "warmup": 0, "global_batch": 8, "seq_length": 16}),
}


def learning_rate(t, step):
    if t["schedule"] == "constant":
        return t["lr"]
    if step < t["warmup"]:
        return t["lr"] * (step + 1) / t["warmup"]
    progress = (step - t["warmup"]) / (t["steps"] - t["warmup"])
    return t["min_lr"] + (t["lr"] - t["min_lr"]) / 2 * (1 + math.cos(math.pi * progress))


def trained(t, name):
    """Whether the recipe's patterns leave a tensor trained; one stands for a tensor, or for those of a module."""
    def named(patterns):
        return any(fnmatchcase(name, p) or fnmatchcase(name, p + ".*") for p in patterns)
    return named(t["train_only"]) if "train_only" in t else not named(t.get("freeze", []))


def global_batch(t, tokens, step, labels=None):
    """Inputs and labels (B, T) of one step: sample i is tokens [i*T, i*T+T], step s uses samples [s*B, (s+1)*B).
    `labels`: of the tokens, -100 where they do not count; None: the tokens."""
    B, T = t["global_batch"], t["seq_length"]
    at = (step * B + torch.arange(B))[:, None] * T + torch.arange(T + 1)
    return tokens[at][:, :-1], (tokens if labels is None else labels)[at][:, 1:]


def mean_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())  # ignores labels of -100


def summary(tensors):
    return {name: {"sum": float(x.detach().double().sum()), "l2": float(x.detach().double().norm())}
            for name, x in tensors.items()}


def train(config, t, weights, tokens, dtype=torch.float64, labels=None, loss_of=mean_loss):
    """Runs a case. `labels`: see global_batch. Returns the contents of expected.json, final.json and gradients.json."""
    p = {name: w.to(dtype).requires_grad_(trained(t, name)) for name, w in weights.items()}
    moving = {name: w for name, w in p.items() if w.requires_grad}
    m, v = ({name: torch.zeros_like(w) for name, w in p.items()} for _ in range(2))
    beta1, beta2 = t["betas"]
    steps, first_gradients = [], None
    for step in range(t["steps"]):
        inputs, targets = global_batch(t, tokens, step, labels)
        logits = FORWARD[config["model_type"]](config, p, inputs)
        loss = loss_of(logits, targets)
        if t.get("z_coefficient"):
            loss = loss + t["z_coefficient"] * logits.logsumexp(-1).square().mean()
        gradients = dict(zip(moving, torch.autograd.grad(loss, list(moving.values()))))
        first_gradients = first_gradients or summary({name: gradients.get(name, torch.zeros_like(w))
                                                      for name, w in p.items()})
        norm = math.sqrt(sum(float(g.double().square().sum()) for g in gradients.values()))
        scale = min(1.0, t["clip"] / (norm + 1e-6)) if t["clip"] else 1.0
        lr = learning_rate(t, step)
        steps.append({"step": step, "loss": loss.item(), "grad_norm": norm, "lr": lr})
        with torch.no_grad():
            for name, w in moving.items():  # AdamW (Loshchilov and Hutter 2019), decay decoupled, matrices only
                g = gradients[name] * scale
                if w.dim() >= 2:
                    w *= 1 - lr * t["weight_decay"]
                m[name].lerp_(g, 1 - beta1)
                v[name].mul_(beta2).addcmul_(g, g, value=1 - beta2)
                m_hat = m[name] / (1 - beta1 ** (step + 1))
                v_hat = v[name] / (1 - beta2 ** (step + 1))
                w -= lr * m_hat / (v_hat.sqrt() + t["eps"])
    return {"training": t, "steps": steps}, summary(p), first_gradients


def fresh_weights(config, generator):
    """Larger than usual, and no bias zero or gain one, so that every term of a backward pass shows in the result."""
    weights = {}
    for name, shape in SHAPES[config["model_type"]](config).items():
        noise = torch.randn(shape, generator=generator, dtype=torch.float32)
        if len(shape) == 2:
            embedding = name.endswith(("wte.weight", "embed_tokens.weight", "wpe.weight"))
            weights[name] = (0.05 if embedding else 0.08) * noise
        else:
            gain = 1.0 if name.endswith("weight") else 0.0
            weights[name] = gain + 0.05 * noise
    return weights


def fresh_tokens(config, t, generator):
    """A random walk on a random graph with 3 edges a token, one jump in 5, so that there is something to learn."""
    vocab, count = config["vocab_size"], t["steps"] * t["global_batch"] * t["seq_length"] + 1
    edges = torch.randint(vocab, (vocab, 3), generator=generator).tolist()
    jump = (torch.rand(count, generator=generator) < 0.2).tolist()
    choice = torch.randint(3, (count,), generator=generator).tolist()
    anywhere = torch.randint(vocab, (count,), generator=generator).tolist()
    tokens = [vocab - 1]  # the last token is there for certain: it is the one next to the padding
    for i in range(1, count):
        tokens.append(anywhere[i] if jump[i] else edges[tokens[-1]][choice[i]])
    return torch.tensor(tokens)


def deviation(ours, theirs, path=""):
    """Largest relative difference of any number in two like structures, and where. A sum that cancels to nothing
    is held against 1 rather than against itself."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and ours.keys() == theirs.keys():
        return max((deviation(ours[k], theirs[k], f"{path}/{k}") for k in theirs), default=(0.0, path))
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        return max((deviation(a, b, f"{path}/{i}") for i, (a, b) in enumerate(zip(ours, theirs))), default=(0.0, path))
    if isinstance(theirs, (int, float)) and isinstance(ours, (int, float)):
        floor = 1.0 if path.endswith("/sum") else 1e-12
        return abs(ours - theirs) / max(abs(theirs), floor), path
    return (0.0, path) if ours == theirs else (math.inf, path)


def load(name):
    folder = HERE / name
    config, weights = read_json(folder / "config.json"), read_safetensors(folder / "model.safetensors")
    shapes = {k: tuple(w.shape) for k, w in weights.items()}
    if shapes != SHAPES[config["model_type"]](config):
        raise SystemExit(f"{name}: the tensors in model.safetensors are not those of config.json")
    training = read_json(folder / "expected.json")["training"]
    return config, training, weights, read_tokens(folder / "tokens.bin")


def worst(steps, expected, key):
    return max(abs(a[key] - b[key]) / abs(b[key]) for a, b in zip(steps, expected))


def check(name):
    """Runs a case from its files, prints the largest deviations, and stops where one is above TOLERANCE.

    A float32 run beside it shows how much of the tests' tolerance the arithmetic itself uses.
    """
    config, training, weights, tokens = load(name)
    results = train(config, training, weights, tokens)
    for file, ours in zip(("expected.json", "final.json", "gradients.json"), results):
        if not (HERE / name / file).exists():
            print(f"{name:12} {file:15} absent")
            continue
        largest, where = deviation(ours, read_json(HERE / name / file))
        print(f"{name:12} {file:15} largest deviation {largest:.1e} at {where}")
        if largest > TOLERANCE:
            raise SystemExit(f"{name}/{file} is not reproduced to {TOLERANCE}")
    expected = results[0]["steps"]
    single = train(config, training, weights, tokens, torch.float32)[0]["steps"]
    print(f"{name:12} in float32: loss {worst(single, expected, 'loss'):.1e}, "
          f"grad_norm {worst(single, expected, 'grad_norm'):.1e} relative")


def make(name):
    case, folder = CASES[name], HERE / name
    generator = torch.Generator().manual_seed(case.seed)
    weights, tokens = fresh_weights(case.config, generator), fresh_tokens(case.config, case.training, generator)
    expected, final, gradients = train(case.config, case.training, weights, tokens)
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", case.config, indent=2)
    write_safetensors(folder / "model.safetensors", weights)
    write_tokens(folder / "tokens.bin", tokens)
    write_json(folder / "expected.json", expected)
    write_json(folder / "final.json", final)
    write_json(folder / "gradients.json", gradients)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("check", "make", "gradients"))
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    known = CASES if arguments.command == "make" else (*GIVEN, *CASES) if arguments.command == "check" else ()
    if unknown := set(arguments.cases) - set(known):
        parser.error(f"{arguments.command} knows {', '.join(known) or 'no cases by name'}, not {', '.join(unknown)}")
    if sys.byteorder != "little":
        raise SystemExit("the file formats are little-endian and so must this machine be")
    torch.set_num_threads(1)

    if arguments.command != "check":
        for name in GIVEN:
            check(name)
    if arguments.command == "gradients":
        for name in GIVEN:
            write_json(HERE / name / "gradients.json", train(*load(name))[2])
    else:
        for name in arguments.cases or known:
            if arguments.command == "make":
                make(name)
            check(name)


if __name__ == "__main__":
    main()
