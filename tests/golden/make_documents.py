#!/usr/bin/env python3
"""Makes the golden cases *-documents: transformers in float64 on samples of several documents, each of which sees itself
alone, by a 4D attention mask and position_ids.

For developers only. It needs PyTorch, transformers 5 and h5py. The recipe of training is that of make_golden.py.

    make_documents.py [CASE...]   write the cases of the table CASES afresh (config, weights, tokens, results)

The loss of the first step is computed again document by document, without mask and positions, and must be the same.
"""

import sys

import h5py
import torch

import make_golden
from golden_files import write_json, write_safetensors
from make_families import Reference, fresh_weights
from make_golden import HERE, RECIPE, fresh_tokens, train

CASES = {
    # Labels of its own, of which some are -100; the loss covers the first token of a document.
    "llama-documents": ({"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 4,
                         "num_key_value_heads": 2, "hidden_size": 24, "intermediate_size": 44, "vocab_size": 61,
                         "rms_norm_eps": 1e-5, "rope_theta": 1000.0, "tie_word_embeddings": False,
                         "max_position_embeddings": 40, "hidden_act": "silu"},
                        {"global_batch": 8, "seq_length": 37, "steps": 5, "documents": "mask"}),
    # Learned positions; the loss leaves out the first token of each document.
    "gpt2-documents": ({"model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 24, "n_positions": 40,
                        "n_inner": 60, "vocab_size": 53, "layer_norm_epsilon": 1e-5,
                        "activation_function": "gelu_new", "tie_word_embeddings": True},
                       {"global_batch": 8, "seq_length": 30, "steps": 8, "documents": "mask",
                        "mask_end_token_loss": True}),
}


def fresh_documents(count, length, generator):
    """First tokens of documents of 1 to 3/4 `length` tokens, and the number of tokens."""
    starts = [0]
    while starts[-1] < count:
        starts.append(starts[-1] + int(torch.randint(1, 3 * length // 4, (1,), generator=generator)))
    return starts[:-1] + [count]


class Packed:
    """A Reference that knows the documents of the step's samples. train() calls it once for each step."""

    def __init__(self, reference, t, starts):
        self.reference, self.t, self.step = reference, t, 0
        self.first = torch.zeros(starts[-1], dtype=torch.bool)
        self.first[starts[:-1]] = True

    def positions(self, step):
        B, T = self.t["global_batch"], self.t["seq_length"]
        first = self.first[step * B * T : (step + 1) * B * T].reshape(B, T).clone()
        first[:, 0] = True
        at = torch.arange(T).expand(B, T)
        return at - torch.where(first, at, 0).cummax(1).values

    def __call__(self, config, p, tokens):
        positions = self.positions(self.step)
        self.step += 1
        at = torch.arange(tokens.shape[1])
        begin = (at - positions)[:, :, None]  # of each query's document
        seen = (at <= at[:, None]) & (at >= begin)
        mask = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -torch.inf)[:, None]
        return self.call(p, tokens, {"attention_mask": mask, "position_ids": positions})

    def call(self, p, tokens, more):
        weights = {name: p[disk] for name, disk in self.reference.disk.items()}
        return torch.func.functional_call(self.reference.model, weights, (tokens,), more | {"use_cache": False}).logits

    def loss_one_by_one(self, p, inputs, targets):
        positions = self.positions(0)
        logits = []
        for sample, row in zip(inputs, positions):
            begins = (row == 0).nonzero().flatten().tolist() + [len(row)]
            logits += [self.call(p, sample[None, a:b], {})[0] for a, b in zip(begins, begins[1:])]
        return make_golden.mean_loss(torch.cat(logits)[None], targets.flatten()[None])


def make(name):
    config, of_case = CASES[name]
    folder, training = HERE / name, RECIPE | of_case
    generator = torch.Generator().manual_seed(300 + list(CASES).index(name))
    reference = Reference(config)
    weights = fresh_weights(config, reference.shapes(), generator)
    tokens = fresh_tokens(config, training, generator)
    starts = fresh_documents(len(tokens), training["seq_length"], generator)
    packed = Packed(reference, training, starts)
    make_golden.FORWARD[config["model_type"]] = packed
    labels = None
    if not training.get("mask_end_token_loss"):
        labels = tokens.clone()
        labels[torch.rand(len(tokens), generator=generator) < 0.3] = -100
    counted = tokens.clone() if labels is None else labels
    if training.get("mask_end_token_loss"):
        counted[packed.first] = -100
    expected, final, gradients = train(config, training, weights, tokens, labels=counted)
    inputs, targets = make_golden.global_batch(training, tokens, 0, counted)
    alone = packed.loss_one_by_one({n: w.double() for n, w in weights.items()}, inputs, targets).item()
    if abs(alone - expected["steps"][0]["loss"]) > 1e-6 * alone:
        raise SystemExit(f"{name}: {alone} document by document, {expected['steps'][0]['loss']} together")
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", config, indent=2)
    write_safetensors(folder / "model.safetensors", weights)
    with h5py.File(folder / "tokens.h5", "w") as file:
        file["tokens"] = tokens.numpy().astype("uint16")
        if labels is not None:
            file["labels"] = labels.numpy().astype("int32")
        file["documents"] = starts
    write_json(folder / "expected.json", expected)
    write_json(folder / "final.json", final)
    write_json(folder / "gradients.json", gradients)
    print(name, len(starts) - 1, "documents", expected["steps"][0]["loss"], expected["steps"][-1]["loss"], flush=True)


def main():
    if unknown := set(sys.argv[1:]) - set(CASES):
        raise SystemExit(f"no such case: {', '.join(unknown)}. There are {', '.join(CASES)}")
    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        make(name)


if __name__ == "__main__":
    main()
