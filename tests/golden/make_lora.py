#!/usr/bin/env python3
"""Makes the golden cases *-lora: low-rank adapters trained by Hugging Face's PEFT, in float64.

For developers only. It needs PyTorch, transformers 5 and peft. The recipe of training is that of make_golden.py.

    make_lora.py [CASE...]   write the cases of the table CASES afresh (config, weights, adapter, tokens, results)

`adapter/` is what PEFT's save_pretrained writes. Base, A and B are random, so that every product of an adapter shows
in the first loss.
"""

import copy
import shutil
import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

import make_golden
from golden_files import write_json, write_safetensors, write_tokens
from make_families import LENGTH, SIZES, fresh_weights
from make_golden import HERE, RECIPE, fresh_tokens, train

# config.json and the keys of LoraConfig of each case.
CASES = {
    # One map holds queries, keys and values; weights are stored (in, out); ranks and factors by pattern.
    "gpt2-lora": ({"model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 24, "n_positions": 40, "n_inner": 60,
                   "vocab_size": 61, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
                   "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "tie_word_embeddings": True},
                  {"r": 4, "lora_alpha": 8, "target_modules": ["c_attn", "c_proj", "c_fc"],
                   "rank_pattern": {"attn.c_proj": 2, "h.1.mlp.c_fc": 5}, "alpha_pattern": {"mlp.c_proj": 3},
                   "fan_in_fan_out": True}),
    # Every linear map; keys and values of fewer heads.
    "llama-lora": (SIZES | {"model_type": "llama", "num_hidden_layers": 4, "rope_theta": 10000.0,
                            "rms_norm_eps": 1e-5},
                   {"r": 3, "lora_alpha": 5, "target_modules": "all-linear", "use_rslora": True}),
    # The usual targets, in two blocks: block 0 has no backward pass.
    "qwen2-lora": (SIZES | {"model_type": "qwen2", "num_hidden_layers": 4, "head_dim": 8, "rope_theta": 10000.0,
                            "rms_norm_eps": 1e-6},
                   {"r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"], "layers_to_transform": [1, 3],
                    "layers_pattern": "layers"}),
    # A regular expression, without one of its maps; tied embedding, norms of outputs, soft caps.
    "gemma2-lora": (SIZES | {"model_type": "gemma2", "num_hidden_layers": 4, "sliding_window": 12,
                             "query_pre_attn_scalar": 10, "attn_logit_softcapping": 2.5,
                             "final_logit_softcapping": 4.0, "hidden_activation": "gelu_pytorch_tanh",
                             "tie_word_embeddings": True, "rope_theta": 10000.0},
                    {"r": 4, "lora_alpha": 4, "target_modules": r".*\.(self_attn\.[qko]_proj|mlp\.(gate|down)_proj)",
                     "exclude_modules": ["2.self_attn.k_proj"]}),
    # Embedding, head and norms trained whole beside the adapters ("norm" ends the names of all norms).
    "llama-saved": (SIZES | {"model_type": "llama", "num_hidden_layers": 4, "rope_theta": 10000.0,
                             "rms_norm_eps": 1e-5},
                    {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj", "down_proj"],
                     "modules_to_save": ["embed_tokens", "lm_head", "norm"]}),
    # Magnitudes of the outputs of every map, which all have biases; weights are stored (in, out).
    "gpt2-dora": ({"model_type": "gpt2", "n_layer": 4, "n_head": 4, "n_embd": 24, "n_positions": 40, "n_inner": 60,
                   "vocab_size": 61, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
                   "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "tie_word_embeddings": True},
                  {"r": 4, "lora_alpha": 8, "target_modules": ["c_attn", "c_proj", "c_fc"], "use_dora": True,
                   "rank_pattern": {"attn.c_proj": 2}, "fan_in_fan_out": True}),
    # Magnitudes; biases of queries, keys and values alone; two key heads; the last norm is trained whole.
    "qwen2-dora": (SIZES | {"model_type": "qwen2", "num_hidden_layers": 4, "head_dim": 8, "rope_theta": 10000.0,
                            "rms_norm_eps": 1e-6},
                   {"r": 3, "lora_alpha": 5, "target_modules": "all-linear", "exclude_modules": ["1.mlp.up_proj"],
                    "use_dora": True, "use_rslora": True, "modules_to_save": ["model.norm"]}),
}
TRAINED = ["*.lora_?.weight", "*.lora_magnitude_vector"]
PREFIX = "base_model.model."


def disk_name(name):
    """The name in files of a parameter of PEFT's model: that of the base, or of the adapter without its prefix."""
    name = name.removeprefix(PREFIX)
    for part in ".modules_to_save.default", ".original_module", ".base_layer":
        name = name.replace(part + ".", ".")
    return name.replace("_magnitude_vector.default.weight", "_magnitude_vector").replace(".default.", ".")


class Reference:
    """PEFT's model as a function of its parameters, named as in files."""

    def __init__(self, config, lora):
        settings = copy.deepcopy(config)  # transformers changes what it is given
        made = AutoConfig.for_model(settings.pop("model_type"), **settings)
        base = AutoModelForCausalLM.from_config(made, attn_implementation="eager").float().eval()
        base.get_input_embeddings().padding_idx = None
        self.model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", **lora)).eval()
        self.disk = {name: disk_name(name) for name, _ in self.model.named_parameters()}

    def __call__(self, config, p, tokens):
        weights = {name: p[disk] for name, disk in self.disk.items()}
        return torch.func.functional_call(self.model, weights, (tokens,), {"use_cache": False}).logits

    def shapes(self):
        return {self.disk[name]: tuple(w.shape) for name, w in self.model.named_parameters()}

    def save(self, weights, folder):
        """The adapter as PEFT writes it."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(weights[self.disk[name]])
        shutil.rmtree(folder, ignore_errors=True)
        self.model.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)

    def magnitudes(self, weights, generator):
        """Norms of the adapted weights, of which no output keeps its own."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(weights[self.disk[name]])
            for name, module in self.model.named_modules():
                if len(getattr(module, "lora_magnitude_vector", ())) == 0:
                    continue
                order = (lambda w: w.T) if module.fan_in_fan_out else (lambda w: w)
                norms = order(module.get_base_layer().weight + module.get_delta_weight("default")).norm(dim=1)
                change = 0.7 + 0.6 * torch.rand(len(norms), generator=generator)
                weights[disk_name(name + ".lora_magnitude_vector.default.weight")] = norms * change

    def saved(self):
        """Names of the tensors that are trained whole."""
        return [self.disk[name] for name in self.disk if ".modules_to_save." in name]


def make(name):
    (config, lora), folder = CASES[name], HERE / name
    generator = torch.Generator().manual_seed(300 + list(CASES).index(name))
    reference = Reference(config, lora)
    make_golden.FORWARD[config["model_type"]] = reference
    training = RECIPE | LENGTH
    weights = fresh_weights(config, reference.shapes(), generator)
    tokens = fresh_tokens(config, training, generator)
    folder.mkdir(exist_ok=True)
    reference.magnitudes(weights, generator)
    reference.save(weights, folder / "adapter")
    reference.model.double()
    saved = reference.saved()
    expected, final, gradients = train(config, training | {"train_only": TRAINED + saved}, weights, tokens)
    expected["training"] = training
    base = {k: w for k, w in weights.items() if ".lora_" not in k}
    for tensor in saved:  # those of the adapter's folder count
        base[tensor] = 0.5 * base[tensor] + 0.1
    write_json(folder / "config.json", config, indent=2)
    write_safetensors(folder / "model.safetensors", base)
    write_tokens(folder / "tokens.bin", tokens)
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
