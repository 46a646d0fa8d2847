#!/usr/bin/env python3
"""Makes the golden cases of architectures whose reference is transformers itself, run in float64 (eager attention).

For developers only. It needs PyTorch, transformers 5 and h5py. The recipe of training is that of make_golden.py.

    make_families.py [CASE...]   write the cases of the table CASES afresh (config, weights, tokens, results)

Every parameter is random (transformers' own initial values leave norms at 1 or 0, which hides errors). Sequences are
longer than the windows and than the original contexts. transformers keeps norms' arithmetic and the tables of rotary
positions in float32, so its results are right to about 1e-6.
"""

import copy
import sys

import h5py
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.loss.loss_utils import fixed_cross_entropy

import make_golden
from golden_files import write_json, write_safetensors, write_tokens
from make_golden import HERE, RECIPE, fresh_tokens, train

SIZES = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "intermediate_size": 40,
         "vocab_size": 67, "tie_word_embeddings": False, "max_position_embeddings": 64}
LENGTH = {"global_batch": 4, "seq_length": 40, "steps": 10}

# config.json of each case; some in the spelling of transformers 4, some in that of 5.
CASES = {
    # Dynamic rotary positions, beyond their context; windows in the last two blocks.
    "qwen3": SIZES | {"model_type": "qwen3", "num_hidden_layers": 4, "max_position_embeddings": 32,
                      "rope_theta": 5000.0, "rope_scaling": {"rope_type": "dynamic", "factor": 3.0},
                      "use_sliding_window": True, "sliding_window": 11,
                      "layer_types": ["full_attention", "full_attention", "sliding_attention", "sliding_attention"]},
    "mistral": SIZES | {"model_type": "mistral", "num_hidden_layers": 3, "sliding_window": 13, "rope_theta": 10000.0},
    "olmo2": SIZES | {"model_type": "olmo2", "num_hidden_layers": 3, "rope_theta": 10000.0, "head_dim": 8,
                      "attention_bias": True, "pad_token_id": 0, "eos_token_id": 1},
    "olmo3": SIZES | {"model_type": "olmo3", "num_hidden_layers": 5, "sliding_window": 9, "head_dim": 8,
                      "pad_token_id": 0, "eos_token_id": 1,
                      "rope_parameters": {
                          "full_attention": {"rope_type": "yarn", "rope_theta": 50.0, "factor": 4.0,
                                             "original_max_position_embeddings": 16},
                          "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}},
    # Half of each head is turned; one list of slowdowns within the original context, one beyond.
    "phi3": SIZES | {"model_type": "phi3", "num_hidden_layers": 2, "hidden_size": 48, "head_dim": 12,
                     "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "partial_rotary_factor": 0.5,
                     "original_max_position_embeddings": 24, "rope_theta": 10000.0, "sliding_window": 30,
                     "rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 24,
                                      "short_factor": [1.0, 1.1, 1.2], "long_factor": [1.0, 1.9, 2.5]}},
    "gemma2": SIZES | {"model_type": "gemma2", "num_hidden_layers": 4, "sliding_window": 12,
                       "query_pre_attn_scalar": 10, "attn_logit_softcapping": 2.5, "final_logit_softcapping": 4.0,
                       "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True, "rope_theta": 10000.0},
    # One block of six sees all keys; its rotary positions are slowed.
    "gemma3": SIZES | {"model_type": "gemma3_text", "num_hidden_layers": 7, "sliding_window": 10,
                       "query_pre_attn_scalar": 16, "hidden_activation": "gelu_pytorch_tanh",
                       "tie_word_embeddings": True, "rope_theta": 1000000.0, "rope_local_base_freq": 100.0,
                       "rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "smollm3": SIZES | {"model_type": "smollm3", "num_hidden_layers": 5, "head_dim": 8, "pad_token_id": 0,
                        "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": True, "rope_theta": 2000.0},
    # Rotary positions in 8 of 16 dimensions; untied.
    "pythia": {"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 90,
               "num_hidden_layers": 3, "vocab_size": 67, "max_position_embeddings": 64, "rotary_pct": 0.5,
               "rotary_emb_base": 10000, "hidden_act": "gelu", "use_parallel_residual": True,
               "tie_word_embeddings": False, "layer_norm_eps": 1e-5},
    "granite": SIZES | {"model_type": "granite", "num_hidden_layers": 3, "head_dim": 8, "embedding_multiplier": 6.0,
                        "attention_multiplier": 0.2, "residual_multiplier": 0.4, "logits_scaling": 3.0,
                        "attention_bias": True, "mlp_bias": True,
                        "tie_word_embeddings": True, "rope_theta": 10000.0},
    "qwen3-frozen": SIZES | {"model_type": "qwen3", "num_hidden_layers": 4, "rope_theta": 10000.0},
    "gemma2-frozen": SIZES | {"model_type": "gemma2", "num_hidden_layers": 2, "sliding_window": 12,
                              "query_pre_attn_scalar": 10, "attn_logit_softcapping": 2.5,
                              "final_logit_softcapping": 4.0, "hidden_activation": "gelu_pytorch_tanh",
                              "tie_word_embeddings": True, "rope_theta": 10000.0},
    "pythia-frozen": {"model_type": "gpt_neox", "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 40,
                      "num_hidden_layers": 3, "vocab_size": 67, "max_position_embeddings": 64, "rotary_pct": 0.5,
                      "rotary_emb_base": 10000, "hidden_act": "gelu", "use_parallel_residual": True,
                      "tie_word_embeddings": False, "layer_norm_eps": 1e-5},
    # Labels of its own (LABELLED). Its numbers are divided by every layout of the tests.
    "llama-labels": {"model_type": "llama", "num_hidden_layers": 6, "num_attention_heads": 12,
                     "num_key_value_heads": 12, "hidden_size": 48, "intermediate_size": 60, "vocab_size": 61,
                     "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False,
                     "max_position_embeddings": 40, "hidden_act": "silu"},
}
# Patterns of the cases of which some tensors are frozen.
FROZEN = {
    # The embedding and the first blocks; the norm of queries, and that of keys where queries' is trained.
    "qwen3-frozen": {"freeze": ["model.embed_tokens", "model.layers.[01]", "model.layers.2.self_attn.q_norm",
                                "model.layers.3.self_attn.k_norm", "model.layers.3.mlp.down_proj"]},
    # All norms, and nothing else.
    "gemma2-frozen": {"freeze": ["*norm.weight"]},
    # Norms' weights whose biases are trained, and the reverse; weights and biases of maps.
    "pythia-frozen": {"freeze": ["gpt_neox.layers.[02].*norm.weight", "gpt_neox.layers.1.*norm.bias",
                                 "gpt_neox.layers.*.attention.query_key_value.bias",
                                 "gpt_neox.layers.1.attention.dense.weight", "gpt_neox.layers.2.mlp.*.weight",
                                 "*.0.mlp.dense_4h_to_h.bias"]},
}
LABELLED = {"llama-labels": {"global_batch": 24, "seq_length": 12, "steps": 10}}
DISK_NAMES = {"gpt_neox": {"lm_head.weight": "embed_out.weight"}}  # where memory and files differ


class Reference:
    """A model of transformers as a function of its parameters, named as in files."""

    def __init__(self, config):
        settings = copy.deepcopy(config)  # transformers changes what it is given
        made = AutoConfig.for_model(settings.pop("model_type"), **settings)
        self.model = AutoModelForCausalLM.from_config(made, attn_implementation="eager").double().eval()
        self.model.get_input_embeddings().padding_idx = None  # it drops the gradient of that token's row
        names = DISK_NAMES.get(config["model_type"], {})
        self.disk = {name: names.get(name, name) for name, _ in self.model.named_parameters()}

    def __call__(self, config, p, tokens):
        weights = {name: p[disk] for name, disk in self.disk.items()}
        return torch.func.functional_call(self.model, weights, (tokens,), {"use_cache": False}).logits

    def shapes(self):
        return {self.disk[name]: tuple(w.shape) for name, w in self.model.named_parameters()}


def fresh_weights(config, shapes, generator):
    weights = {}
    offset = config["model_type"].startswith("gemma")  # norms are stored less 1
    for name, shape in shapes.items():
        noise = torch.randn(shape, generator=generator, dtype=torch.float32)
        if len(shape) == 2:
            weights[name] = (0.05 if "embed" in name else 0.12) * noise
        else:
            gain = 1.0 if name.endswith("weight") and not offset else 0.0
            weights[name] = gain + 0.1 * noise
    return weights


def fresh_labels(t, tokens, generator):
    """The tokens, of which two in five do not count (-100), nor the first half of every fifth sample (a prompt), nor any
    of the first six samples of steps 1, 4 and 7: the first micro-batch of each layout of up to 6 samples has none."""
    B, T = t["global_batch"], t["seq_length"]
    labels = tokens.clone()
    labels[torch.rand(len(tokens), generator=generator) < 0.4] = -100
    for sample in range(t["steps"] * B):
        begin = sample * T + 1
        if sample % 5 == 0:
            labels[begin : begin + T // 2] = -100
        if sample // B in (1, 4, 7) and sample % B < 6:
            labels[begin : begin + T] = -100
    return labels


def accumulated_loss(logits, labels):
    """transformers' own loss of micro-batches of 2 samples, as its Trainer adds them up."""
    count = (labels != -100).sum()
    return sum(fixed_cross_entropy(x.flatten(0, 1), y.flatten(), num_items_in_batch=count)
               for x, y in zip(logits.split(2), labels.split(2)))


def write_labelled(path, tokens, labels):
    with h5py.File(path, "w") as file:
        file["tokens"] = tokens.numpy().astype("uint16")
        file["labels"] = labels.numpy().astype("int32")


def make(name):
    config, folder = CASES[name], HERE / name
    generator = torch.Generator().manual_seed(200 + list(CASES).index(name))
    reference = Reference(config)
    make_golden.FORWARD[config["model_type"]] = reference
    training = RECIPE | LABELLED.get(name, LENGTH) | FROZEN.get(name, {})
    weights = fresh_weights(config, reference.shapes(), generator)
    tokens = fresh_tokens(config, training, generator)
    labels = fresh_labels(training, tokens, generator) if name in LABELLED else None
    expected, final, gradients = train(config, training, weights, tokens, labels=labels,
                                       loss_of=accumulated_loss if name in LABELLED else make_golden.mean_loss)
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", config, indent=2)
    write_safetensors(folder / "model.safetensors", weights)
    if labels is None:
        write_tokens(folder / "tokens.bin", tokens)
    else:
        write_labelled(folder / "tokens.h5", tokens, labels)
    write_json(folder / "expected.json", expected)
    write_json(folder / "final.json", final)
    write_json(folder / "gradients.json", gradients)
    print(name, expected["steps"][0]["loss"], expected["steps"][-1]["loss"], flush=True)


def main():
    if unknown := set(sys.argv[1:]) - set(CASES):
        raise SystemExit(f"no such case: {', '.join(unknown)}. There are {', '.join(CASES)}")
    torch.set_num_threads(1)
    for name in sys.argv[1:] or CASES:
        make(name)


if __name__ == "__main__":
    main()
