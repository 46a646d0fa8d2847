"""The architectures gpt2, llama and qwen2 of the golden cases in plain tensor operations.

Written out so that the results owe nothing to a library's choice of kernels or to its float32 islands (Hugging
Face rotates and normalises in float32). In a forward `c` is config.json, `p` maps Hugging Face's tensor names to
tensors, and tokens (B, T) become logits (B, T, V).
"""

import math

import torch
import torch.nn.functional as F


def attention(q, k, v):
    """Causal attention; q (B, H, T, D), k and v (B, H_kv, T, D) with H a multiple of H_kv. Returns (B, T, H*D)."""
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])  # (B, H, T, T)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    y = scores.masked_fill(future, -math.inf).softmax(-1) @ v
    return y.transpose(1, 2).flatten(2)


def heads(x, count):
    """(B, T, count*D) to (B, count, T, D)."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def gpt2_shapes(c):
    C, inner = c["n_embd"], c.get("n_inner") or 4 * c["n_embd"]
    shapes = {"transformer.wte.weight": (c["vocab_size"], C), "transformer.wpe.weight": (c["n_positions"], C)}

    def both(name, weight):  # GPT-2 keeps its linear weights as (in, out)
        shapes[name + ".weight"], shapes[name + ".bias"] = weight, weight[-1:]

    for i in range(c["n_layer"]):
        h = f"transformer.h.{i}."
        both(h + "ln_1", (C,))
        both(h + "attn.c_attn", (C, 3 * C))
        both(h + "attn.c_proj", (C, C))
        both(h + "ln_2", (C,))
        both(h + "mlp.c_fc", (C, inner))
        both(h + "mlp.c_proj", (inner, C))
    both("transformer.ln_f", (C,))
    if not c["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (c["vocab_size"], C)
    return shapes


def gpt2_forward(c, p, tokens):
    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], p[name + ".weight"], p[name + ".bias"], c["layer_norm_epsilon"])

    def linear(name, x):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    x = p["transformer.wte.weight"][tokens] + p["transformer.wpe.weight"][: tokens.shape[1]]
    for i in range(c["n_layer"]):
        h = f"transformer.h.{i}."
        qkv = linear(h + "attn.c_attn", norm(h + "ln_1", x)).chunk(3, dim=-1)
        x = x + linear(h + "attn.c_proj", attention(*(heads(t, c["n_head"]) for t in qkv)))
        a = linear(h + "mlp.c_fc", norm(h + "ln_2", x))
        x = x + linear(h + "mlp.c_proj", F.gelu(a, approximate="tanh"))
    head = p["transformer.wte.weight" if c["tie_word_embeddings"] else "lm_head.weight"]
    return norm("transformer.ln_f", x) @ head.T


def llama_shapes(c):
    C, inner, V = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
    D = c.get("head_dim") or C // c["num_attention_heads"]
    rows = {"q": c["num_attention_heads"] * D, "k": c["num_key_value_heads"] * D, "v": c["num_key_value_heads"] * D}
    shapes = {"model.embed_tokens.weight": (V, C)}
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}."
        shapes[h + "input_layernorm.weight"] = (C,)
        shapes |= {f"{h}self_attn.{x}_proj.weight": (n, C) for x, n in rows.items()}
        shapes[h + "self_attn.o_proj.weight"] = (C, rows["q"])
        if c["model_type"] == "qwen2" or c.get("attention_bias"):
            shapes |= {f"{h}self_attn.{x}_proj.bias": (n,) for x, n in rows.items()}
        if c.get("attention_bias"):
            shapes[h + "self_attn.o_proj.bias"] = (C,)
        shapes[h + "post_attention_layernorm.weight"] = (C,)
        shapes |= {f"{h}mlp.{x}_proj.weight": (inner, C) for x in ("gate", "up")}
        shapes[h + "mlp.down_proj.weight"] = (C, inner)
        if c.get("mlp_bias"):
            shapes |= {f"{h}mlp.{x}_proj.bias": (n,) for x, n in (("gate", inner), ("up", inner), ("down", C))}
    shapes["model.norm.weight"] = (C,)
    if not c["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (V, C)
    return shapes


def frequencies(c, half):
    """How fast each of `half` pairs turns, in radians a position, as Hugging Face's modeling_rope_utils has it."""
    plain = c["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
    scaling = c.get("rope_scaling") or {"rope_type": "default"}
    if scaling["rope_type"] == "default":
        return plain
    slow = plain / scaling["factor"]
    if scaling["rope_type"] == "linear":
        return slow
    if scaling["rope_type"] == "yarn":
        def pair_of(turns):  # the pair that turns so often in the original context
            return half * math.log(scaling["original_max_position_embeddings"] / (2 * math.pi * turns)) / math.log(c["rope_theta"])

        low, high = max(math.floor(pair_of(32)), 0), min(math.ceil(pair_of(1)), 2 * half - 1)
        slowed = ((torch.arange(half, dtype=torch.float64) - low) / (high - low)).clamp(0, 1)
        return slow * slowed + plain * (1 - slowed)
    assert scaling["rope_type"] == "llama3"
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    context = scaling["original_max_position_embeddings"]
    wavelength = 2 * math.pi / plain
    smooth = (context / wavelength - low) / (high - low)
    between = (1 - smooth) * slow + smooth * plain
    return torch.where(wavelength < context / high, plain, torch.where(wavelength > context / low, slow, between))


def attention_factor(c):
    """Factor on cosines and sines."""
    scaling = c.get("rope_scaling") or {}
    return 0.1 * math.log(scaling["factor"]) + 1 if scaling.get("rope_type") == "yarn" else 1.0


def rotate(x, c):
    """Rotary embedding in Hugging Face's half-split order: element i of a head pairs with element i + D/2."""
    half, T = x.shape[-1] // 2, x.shape[-2]
    frequency = frequencies(c, half)
    angle = torch.arange(T, dtype=torch.float64)[:, None] * frequency  # (T, D/2)
    factor = attention_factor(c)
    cos, sin = (factor * angle.cos()).to(x.dtype), (factor * angle.sin()).to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def llama_forward(c, p, tokens):
    """llama, and qwen2, which adds biases to q, k and v."""
    H, H_kv = c["num_attention_heads"], c["num_key_value_heads"]

    def norm(name, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + c["rms_norm_eps"]) * p[name + ".weight"]

    def linear(name, x):
        return F.linear(x, p[name + ".weight"], p.get(name + ".bias"))

    x = p["model.embed_tokens.weight"][tokens]
    for i in range(c["num_hidden_layers"]):
        h = f"model.layers.{i}."
        a = norm(h + "input_layernorm", x)
        q, k, v = (heads(linear(f"{h}self_attn.{name}_proj", a), count)
                   for name, count in (("q", H), ("k", H_kv), ("v", H_kv)))
        x = x + linear(h + "self_attn.o_proj", attention(rotate(q, c), rotate(k, c), v))
        a = norm(h + "post_attention_layernorm", x)
        x = x + linear(h + "mlp.down_proj", F.silu(linear(h + "mlp.gate_proj", a)) * linear(h + "mlp.up_proj", a))
    head = p["model.embed_tokens.weight" if c["tie_word_embeddings"] else "lm_head.weight"]
    return norm("model.norm", x) @ head.T


SHAPES = {"gpt2": gpt2_shapes, "llama": llama_shapes, "qwen2": llama_shapes}
FORWARD = {"gpt2": gpt2_forward, "llama": llama_forward, "qwen2": llama_forward}
