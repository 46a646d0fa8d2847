#!/usr/bin/env python3
"""Makes rope.json: frequencies, factors, cosines and sines of rotary positions, by transformers itself.

For developers only. It needs PyTorch and transformers 5 (rope.json says which). Each case is a config.json and the
length of a sequence; the numbers are those of LlamaRotaryEmbedding after a forward pass over that sequence.
"""

import json
import warnings
from pathlib import Path

import torch
import transformers
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

POSITION = 3  # of the cosines and sines

SHAPE = {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2,
         "hidden_size": 32, "head_dim": 16, "intermediate_size": 16, "vocab_size": 32}


def case(name, length, rope, home="rope_scaling", theta=10000.0, positions=64, **more):
    config = SHAPE | {"max_position_embeddings": positions, "rope_theta": theta, home: rope} | more
    return {"name": name, "length": length, "config": config}


def stretch(first, last, pairs=8):
    return [round(first + (last - first) * i / (pairs - 1), 3) for i in range(pairs)]


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LONG = {"rope_type": "longrope", "short_factor": stretch(1.0, 1.5), "long_factor": stretch(1.1, 7.0)}
CASES = [
    case("default", 32, None),
    case("default of 5", 32, {"rope_type": "default", "rope_theta": 500000.0}, "rope_parameters"),
    case("linear", 32, {"rope_type": "linear", "factor": 2.5}),
    case("linear, older name", 32, {"type": "linear", "factor": 8}),
    case("dynamic within", 64, {"rope_type": "dynamic", "factor": 4.0}),
    case("dynamic beyond", 150, {"type": "dynamic", "factor": 2.0}),
    case("dynamic of 5", 65, {"rope_type": "dynamic", "factor": 3.0, "rope_theta": 2000.0}, "rope_parameters"),
    case("yarn", 32, YARN, positions=256),
    case("yarn of 5", 32, YARN | {"rope_theta": 1000000.0}, "rope_parameters", positions=256),
    case("yarn, ratio", 32, YARN | {"factor": None}, positions=1024),
    case("yarn, other factor", 32, YARN, positions=1024),
    case("yarn, no original", 32, {"type": "yarn", "factor": 8.0}, positions=4096),
    case("yarn, not truncated", 32, YARN | {"truncate": False}, positions=256),
    case("yarn, betas", 32, YARN | {"original_max_position_embeddings": 4096, "beta_fast": 90, "beta_slow": 0.5},
         positions=16384),
    case("yarn, attention_factor", 32, YARN | {"attention_factor": 1.375, "mscale": 1.0, "mscale_all_dim": 0.5},
         positions=256),
    case("yarn, mscale", 32, YARN | {"factor": 40, "mscale": 1.0, "mscale_all_dim": 0.5}, positions=2560),
    case("yarn, one mscale", 32, YARN | {"mscale": 0.707}, positions=256),
    case("yarn, zero mscale", 32, YARN | {"mscale": 0.707, "mscale_all_dim": 0}, positions=256),
    case("yarn, wide heads", 32, YARN | {"original_max_position_embeddings": 32768}, theta=1000000.0, positions=131072,
         head_dim=128),
    case("longrope within", 64, LONG | {"original_max_position_embeddings": 64}, positions=512),
    case("longrope beyond", 65, LONG | {"original_max_position_embeddings": 64}, positions=512),
    case("longrope, factor", 65, LONG | {"original_max_position_embeddings": 64, "factor": 4.0}, positions=512),
    case("longrope, attention_factor", 65, LONG | {"original_max_position_embeddings": 64, "attention_factor": 1.19},
         positions=512),
    case("longrope, outside wins", 65, LONG | {"original_max_position_embeddings": 128}, positions=512,
         original_max_position_embeddings=64),
    case("longrope, not stretched", 64, LONG, positions=64),
    case("llama3", 32, {"rope_type": "llama3", "factor": 6.0, "low_freq_factor": 0.8, "high_freq_factor": 5.0,
                        "original_max_position_embeddings": 64}, theta=2000.0, positions=128),
    case("llama3, outside wins", 32, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                      "high_freq_factor": 4.0, "original_max_position_embeddings": 2048},
         "rope_parameters", theta=500000.0, positions=131072, original_max_position_embeddings=8192),
]


def numbers(values):
    return [float(x) for x in values.double()]


def result(entry):
    config = transformers.LlamaConfig(**json.loads(json.dumps(entry["config"])))
    rope = LlamaRotaryEmbedding(config)
    cosines, sines = rope(torch.zeros(1), torch.arange(entry["length"])[None])
    half = rope.inv_freq.numel()
    return entry | {"frequencies": numbers(rope.inv_freq), "factor": float(rope.attention_scaling),
                    "cosines": numbers(cosines[0, POSITION, :half]), "sines": numbers(sines[0, POSITION, :half])}


def main():
    warnings.simplefilter("ignore")
    results = [result(entry) for entry in CASES]
    text = ",\n".join(json.dumps(entry) for entry in results)
    head = f'"transformers": "{transformers.__version__}", "position": {POSITION}'
    (Path(__file__).resolve().parent / "rope.json").write_text(f'{{{head}, "cases": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
