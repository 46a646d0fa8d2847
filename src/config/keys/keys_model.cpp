// SPDX-License-Identifier: Apache-2.0
// Rows of model: the source of weights and shape, and the shape under Hugging Face's names and
// defaults. GPT-2's dropouts default to 0, not to Hugging Face's 0.1; a config.json's values are
// obeyed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/config/keys/key_table.hpp"
#include "src/config/rope_kinds.hpp"

namespace triax {
namespace {
using enum KeyType;
using Keys = std::vector<Key>;
using nlohmann::json;

void add_sources(Keys& k) {
  k.push_back(obeyed("model.from", path, nullptr, anything(),
                     "directory with config.json and model.safetensors: shape and weights"));
  k.push_back(obeyed("model.config", path, nullptr, anything(),
                     "a config.json: shape only, fresh weights"));
  k.push_back(obeyed("model.architecture", string, nullptr, one_of({"gpt2", "llama", "qwen2"}),
                     "the model family"));
  k.push_back(obeyed("model.model_type", string, nullptr, one_of({"gpt2", "llama", "qwen2"}),
                     "Hugging Face's name for model.architecture"));
  k.push_back(obeyed("model.architectures", strings, nullptr, anything(),
                     "class names; must agree with model.architecture"));
}

void add_common(Keys& k) {
  k.push_back(obeyed("model.initializer_range", number, 0.02, at_least(0),
                     "standard deviation of fresh weights"));
  k.push_back(refused("model.quantization_config", object, nullptr, "quantized weights",
                      "quantized models are not built yet"));
  for (const auto* name :
       {"torch_dtype", "dtype", "transformers_version", "use_cache", "_name_or_path"})
    k.push_back(accepted(std::string("model.") + name, any, nullptr, "Hugging Face bookkeeping"));
  for (const auto* name : token_id_keys)
    k.push_back(obeyed(std::string("model.") + name, any, nullptr, anything(),
                       "copied to exports; training does not use it"));
}

// partition_blocks takes time quadratic in the blocks: a million would take hours.
constexpr double most_blocks = 1e4;

void add_gpt2(Keys& k) {
  const auto add = [&](Key&& key) { k.push_back(std::move(key).only({"gpt2"})); };
  add(obeyed("model.n_layer", integer, 12, from_to(1, most_blocks), "transformer blocks"));
  add(obeyed("model.n_head", integer, 12, from_to(1, 1e6), "attention heads"));
  add(obeyed("model.n_embd", integer, 768, from_to(1, 1e7), "hidden width"));
  add(obeyed("model.n_positions", integer, 1024, from_to(1, 1e9), "longest sequence").in("tokens"));
  add(obeyed("model.n_inner", integer, nullptr, from_to(1, 1e8),
             "width of the MLP; null: 4 x n_embd"));
  add(obeyed("model.vocab_size", integer, 50257, from_to(1, 1e9), "vocabulary, unpadded")
          .in("tokens"));
  add(obeyed("model.layer_norm_epsilon", number, 1e-5, above(0),
             "added to the variance in LayerNorm"));
  add(obeyed("model.activation_function", string, "gelu_new",
             one_of({"gelu_new", "gelu_pytorch_tanh"}), "GELU in its tanh form"));
  add(obeyed("model.tie_word_embeddings", boolean, true, anything(),
             "the head is the token embedding"));
  const auto dropout = from_below(0, 1);
  add(obeyed("model.resid_pdrop", number, 0.0, dropout,
             "dropout after attention and MLP (0 here, 0.1 at Hugging Face)")
          .in("probability"));
  add(obeyed("model.embd_pdrop", number, 0.0, dropout,
             "dropout after the embedding (0 here, 0.1 at Hugging Face)")
          .in("probability"));
  add(obeyed("model.attn_pdrop", number, 0.0, dropout,
             "dropout of attention weights (0 here, 0.1 at Hugging Face)")
          .in("probability"));
  const std::string other = "triax implements GPT-2 as published";
  add(refused("model.scale_attn_weights", boolean, true,
              "attention scores divided by sqrt(head size)", other));
  add(refused("model.scale_attn_by_inverse_layer_idx", boolean, false,
              "attention scores divided by the layer's number", other));
  add(refused("model.add_cross_attention", boolean, false, "attention to an encoder", other));
  add(accepted("model.reorder_and_upcast_attn", boolean, false,
               "attention in float32, as always here"));
  add(accepted("model.n_ctx", integer, nullptr, "old name of n_positions"));
  add(accepted("model.task_specific_params", any, nullptr, "Hugging Face bookkeeping"));
  for (const auto* name : {"type", "use_proj", "activation", "proj_to_labels", "first_dropout"})
    add(accepted(std::string("model.summary_") + name, any, nullptr,
                 "for classification heads, which triax does not have"));
}

// Sizes that llama and qwen2 name alike but default differently.
void add_sizes(Keys& k, const char* type, int intermediate, int positions, int vocabulary) {
  const auto add = [&](Key&& key) { k.push_back(std::move(key).only({type})); };
  add(obeyed("model.intermediate_size", integer, intermediate, from_to(1, 1e8),
             "width of the MLP"));
  add(obeyed("model.max_position_embeddings", integer, positions, from_to(1, 1e9),
             "longest sequence")
          .in("tokens"));
  add(obeyed("model.vocab_size", integer, vocabulary, from_to(1, 1e9), "vocabulary, unpadded")
          .in("tokens"));
}

void add_llama_and_qwen2(Keys& k) {
  const auto add = [&](Key&& key) { k.push_back(std::move(key).only({"llama", "qwen2"})); };
  add(obeyed("model.num_hidden_layers", integer, 32, from_to(1, most_blocks),
             "transformer blocks"));
  add(obeyed("model.num_attention_heads", integer, 32, from_to(1, 1e6), "query heads"));
  add(obeyed("model.hidden_size", integer, 4096, from_to(1, 1e7), "hidden width"));
  add(obeyed("model.head_dim", integer, nullptr, from_to(1, 1e6),
             "width of a head; null: hidden_size / num_attention_heads"));
  add(obeyed("model.rms_norm_eps", number, 1e-6, above(0), "added to the mean square in RMSNorm"));
  add(obeyed("model.rope_theta", number, 10000.0, above(0), "base of the rotary positions"));
  add(obeyed("model.tie_word_embeddings", boolean, false, anything(),
             "the head is the token embedding"));
  add(obeyed("model.hidden_act", string, "silu", one_of({"silu", "swish"}),
             "activation of SwiGLU"));
  add(obeyed("model.attention_dropout", number, 0.0, from_below(0, 1),
             "dropout of attention weights")
          .in("probability"));
}

// Meaning of rope_type: that of each kind.
std::string meaning_of_rope_type() {
  std::string text = "kind of the rotary positions";
  const char* separator = ": ";
  for (const RopeKind& kind : rope_kinds()) {
    text += fmt::format("{}{} ({})", separator, kind.name, kind.meaning);
    separator = ", ";
  }
  return text + "; older name: type";
}

// Value that a kind uses if a key is left out.
std::string text_of_default(const RopeUse& use) {
  switch (use.missing) {
    case Missing::number:
      if (std::holds_alternative<bool RopeScaling::*>(use.key->member))
        return use.number != 0.0 ? "true" : "false";
      return fmt::format("{}", use.number);
    case Missing::positions:
      return "max_position_embeddings";
    case Missing::ratio:
      return "max_position_embeddings / original_max_position_embeddings";
    case Missing::computed:
    case Missing::refused:
      break;
  }
  return "none";
}

// Meaning of a key of rope_scaling, with the kinds that need it and the default of the others.
std::string meaning_of(const RopeKey& key) {
  std::string needed, defaults;
  for (const RopeKind& kind : rope_kinds())
    for (const RopeUse& use : kind.uses) {
      if (use.key != &key) continue;
      if (use.missing == Missing::refused)
        needed += (needed.empty() ? "; needed by " : ", ") + std::string(kind.name);
      else
        defaults += fmt::format("; default of {}: {}", kind.name, text_of_default(use));
    }
  return key.meaning + needed + defaults;
}

Key key_of(const RopeKey& key) {
  struct {
    KeyType operator()(double RopeScaling::*) { return number; }
    KeyType operator()(std::int64_t RopeScaling::*) { return integer; }
    KeyType operator()(bool RopeScaling::*) { return boolean; }
    KeyType operator()(std::vector<double> RopeScaling::*) { return numbers; }
  } type_of;
  const KeyType type = std::visit(type_of, key.member);
  Allowed allowed = key.bound == RopeBound::above_0  ? above(0)
                    : key.bound == RopeBound::from_0 ? at_least(0)
                                                     : at_least(1);
  if (type == boolean) allowed = anything();
  if (type == integer) allowed.most = 1e9;
  return obeyed(std::string("model.rope_scaling.") + key.name, type, nullptr, allowed,
                meaning_of(key))
      .in(key.unit);
}

// Rotary positions for contexts longer than the model was trained on.
void add_rope(Keys& k) {
  const auto add = [&](Key&& key) { k.push_back(std::move(key).only({"llama", "qwen2"})); };
  const std::string in = "model.rope_scaling.";
  std::vector<std::string> names;
  for (const RopeKind& kind : rope_kinds()) names.emplace_back(kind.name);
  add(obeyed(in + "rope_type", string, names.front(), one_of(names), meaning_of_rope_type())
          .without({"proportional"}));
  for (const RopeKey* key : rope_keys()) add(key_of(*key));
  add(accepted(in + "finetuned", boolean, nullptr, "how the published weights were trained"));
  for (const auto* name : {"full_attention", "sliding_attention"})
    add(refused(in + name, object, nullptr, "rotary positions of some of the layers",
                "all layers have the same rotary positions"));
  add(refused(in + "mrope_section", list, nullptr, "rotary positions of images",
              "triax has text positions only"));
  add(refused(in + "partial_rotary_factor", number, 1.0, "share of each head with rotary positions",
              "rotary positions apply to whole heads"));
  add(obeyed("model.original_max_position_embeddings", integer, nullptr, from_to(1, 1e9),
             "rope_scaling.original_max_position_embeddings, which it overrides")
          .in("tokens"));
  add(obeyed("model.rope_parameters", object, nullptr, anything(),
             "Hugging Face 5's rope_scaling, with rope_theta in it"));
}

// Keys of related models that compute something else; config.json names such a model llama at
// times.
void add_foreign(Keys& k) {
  const auto add = [&](const char* name, KeyType type, json default_value, const char* meaning) {
    k.push_back(refused(std::string("model.") + name, type, std::move(default_value), meaning,
                        "triax has no model with it")
                    .only({"llama", "qwen2"}));
  };
  add("partial_rotary_factor", number, 1.0, "share of each head with rotary positions");
  for (const auto* name : {"attention_multiplier", "embedding_multiplier", "residual_multiplier",
                           "logits_scaling", "logit_scale"})
    add(name, number, 1.0, "factor on a part of the model");
  for (const auto* name : {"qk_norm", "use_qk_norm", "qk_layernorm"})
    add(name, boolean, false, "normalised queries and keys");
  for (const auto* name : {"attn_logit_softcapping", "final_logit_softcapping", "clip_qkv"})
    add(name, number, nullptr, "bounded values");
  for (const auto* name : {"num_experts", "num_local_experts"})
    add(name, integer, nullptr, "mixture of experts");
}

void add_variants(Keys& k) {
  const auto llama = [&](Key&& key) { k.push_back(std::move(key).only({"llama"})); };
  const auto qwen2 = [&](Key&& key) { k.push_back(std::move(key).only({"qwen2"})); };
  llama(obeyed("model.attention_bias", boolean, false, anything(),
               "biases of the query, key, value and output maps"));
  llama(obeyed("model.mlp_bias", boolean, false, anything(), "biases of the MLP's maps"));
  llama(accepted("model.pretraining_tp", integer, 1, "how the published weights were trained"));
  k.push_back(refused("model.use_sliding_window", boolean, false, "attention in a window",
                      "sliding windows are not built yet")
                  .only({"llama", "qwen2"}));
  llama(refused("model.sliding_window", integer, nullptr, "attention in a window",
                "sliding windows are not built yet"));
  llama(obeyed("model.num_key_value_heads", integer, nullptr, from_to(1, 1e6),
               "key and value heads; left out or null: num_attention_heads"));
  qwen2(obeyed("model.num_key_value_heads", integer, 32, from_to(1, 1e6),
               "key and value heads; left out: 32 for any num_attention_heads, as at Hugging Face; "
               "null: num_attention_heads"));
  qwen2(accepted("model.sliding_window", integer, nullptr,
                 "window, unused without use_sliding_window"));
  qwen2(accepted("model.max_window_layers", integer, nullptr,
                 "layers with a window, unused without use_sliding_window"));
  k.push_back(obeyed("model.layer_types", strings, nullptr, one_of({"full_attention"}),
                     "attention of each layer")
                  .only({"llama", "qwen2"}));
}

}  // namespace

Keys model_keys() {
  Keys k;
  add_sources(k);
  add_gpt2(k);
  add_llama_and_qwen2(k);
  add_sizes(k, "llama", 11008, 2048, 32000);
  add_sizes(k, "qwen2", 22016, 32768, 151936);
  add_rope(k);
  add_variants(k);
  add_foreign(k);
  add_common(k);
  return k;
}

}  // namespace triax
