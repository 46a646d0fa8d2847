// SPDX-License-Identifier: Apache-2.0
// Gemma 2 (2024) and the text model of Gemma 3 (2025): norms before and after attention and MLP,
// whose weights are stored less 1, scaled embeddings, and windows in most blocks. Gemma 2 bounds
// attention scores and logits; Gemma 3 normalises queries and keys instead, and turns blocks with a
// window by a base of their own.
#include <cmath>
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/rope_scaling.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

const std::string attention_cap = "model.attn_logit_softcapping";
const std::string logit_cap = "model.final_logit_softcapping";
constexpr const char* pattern_path = "model.sliding_window_pattern";

std::vector<Key> shared_keys(int positions, int vocabulary, double theta,
                             const nlohmann::json& cap) {
  std::vector<Key> k = decoder_keys({.layers = 26,
                                     .heads = 8,
                                     .hidden = 2304,
                                     .intermediate = 9216,
                                     .positions = positions,
                                     .vocabulary = vocabulary,
                                     .kv_heads = 4,
                                     .head_size = 256,
                                     .theta = theta,
                                     .tied = true},
                                    "hidden_activation", {"gelu_pytorch_tanh"});
  k.push_back(
      accepted("model.hidden_act", string, nullptr, "older name; hidden_activation counts"));
  k.push_back(attention_bias_key());
  k.push_back(obeyed("model.query_pre_attn_scalar", integer, 256, from_to(1, 1e6),
                     "attention scores are divided by its square root"));
  k.push_back(
      obeyed(logit_cap, number, cap, above(0), "bound of the logits; null: none").or_null());
  k.push_back(window_key(4096));
  k.push_back(layer_types_key());
  k.push_back(refused("model.use_bidirectional_attention", boolean, false,
                      "attention to later tokens", "triax trains causal models"));
  k.push_back(accepted("model.sliding_window_size", integer, nullptr,
                       "in published files; sliding_window counts"));
  k.push_back(accepted("model.cache_implementation", string, nullptr, "Hugging Face bookkeeping"));
  for (Key& key : foreign_keys({"attn_logit_softcapping", "final_logit_softcapping"}))
    k.push_back(std::move(key));
  return k;
}

std::vector<Key> keys_of_2() {
  std::vector<Key> k = shared_keys(8192, 256000, 10000.0, 30.0);
  k.push_back(obeyed(attention_cap, number, 50.0, above(0), "bound of attention scores; null: none")
                  .or_null());
  return k;
}

std::vector<Key> keys_of_3() {
  std::vector<Key> k = shared_keys(131072, 262208, 1e6, nullptr);
  k.push_back(refused(attention_cap, number, nullptr, "bound of attention scores",
                      "transformers does not use it for Gemma 3"));
  k.push_back(obeyed(pattern_path, integer, 6, at_least(1),
                     "every n-th block has no window, if layer_types is absent"));
  k.push_back(local_theta_key(10000.0));
  return k;
}

float cap_of(const Settings& s, const std::string& path) {
  return s.has(path) ? static_cast<float>(s.number(path)) : 0.0F;
}

// `pattern_key` sets `pattern`; null: none does.
void read_shared(Settings& s, ModelConfig& m, const char* pattern_key, std::int64_t pattern,
                 ErrorList& errors) {
  read_decoder(s, m, errors);
  m.attention_scale = static_cast<float>(1.0 / std::sqrt(s.number("model.query_pre_attn_scalar")));
  m.embedding_scale = std::sqrt(static_cast<float>(m.hidden));
  m.logit_soft_cap = cap_of(s, logit_cap);
  read_windows(s, m, said_window(s),
               {pattern_key, [&](int block) { return (block + 1) % pattern != 0; }}, errors);
}

void read_2(Settings& s, ModelConfig& m, ErrorList& errors) {
  read_shared(s, m, nullptr, 2, errors);
  m.attention_soft_cap = cap_of(s, attention_cap);
}

void read_3(Settings& s, ModelConfig& m, ErrorList& errors) {
  read_shared(s, m, pattern_path, s.integer(pattern_path), errors);
  read_local_theta(s, m);
}

void write_shared(const ModelConfig& m, nlohmann::ordered_json& root) {
  const double scale = static_cast<double>(m.attention_scale);
  write_decoder(m, root);
  root.erase("hidden_act");
  root["hidden_activation"] = "gelu_pytorch_tanh";
  root["attention_bias"] = m.attention_output_bias;
  root["query_pre_attn_scalar"] = std::llround(1.0 / (scale * scale));
  root["final_logit_softcapping"] = nullptr;
  if (m.logit_soft_cap > 0.0F) root["final_logit_softcapping"] = shortest(m.logit_soft_cap);
  root["attn_logit_softcapping"] = nullptr;
  if (m.attention_soft_cap > 0.0F) root["attn_logit_softcapping"] = shortest(m.attention_soft_cap);
  write_windows(m, root);
}

void write_3(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_shared(m, root);
  write_local_rope(m, root);
}

constexpr BlockSpec block = llama_block_with([](BlockSpec& b) {
  b.names.attention_post_norm = "post_attention_layernorm";
  b.names.mlp_norm = "pre_feedforward_layernorm";
  b.names.mlp_post_norm = "post_feedforward_layernorm";
  b.norm_offset = 1.0F;
  b.mlp = Mlp::geglu;
});

constexpr BlockSpec block_of_3() {
  BlockSpec b = block;
  b.qk_norm = QkNorm::head;
  b.names.q_norm = "self_attn.q_norm";
  b.names.k_norm = "self_attn.k_norm";
  return b;
}

}  // namespace

const Family gemma2 = {.name = "gemma2",
                       .classes = {"Gemma2ForCausalLM", "Gemma2Model"},
                       .block = block,
                       .keys = keys_of_2,
                       .sizes = decoder_sizes,
                       .read = read_2,
                       .write = write_shared};

const Family gemma3_text = {.name = "gemma3_text",
                            .classes = {"Gemma3ForCausalLM", "Gemma3TextModel"},
                            .block = block_of_3(),
                            .keys = keys_of_3,
                            .sizes = decoder_sizes,
                            .read = read_3,
                            .write = write_3,
                            .old_keys = {{"_sliding_window_pattern", "sliding_window_pattern"}},
                            .local_rope = true};

}  // namespace triax::families
