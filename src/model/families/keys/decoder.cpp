// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/keys/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "src/model/families/keys/rope_scaling.hpp"

namespace triax {
namespace {
using enum KeyType;
using nlohmann::json;

const std::string heads = "model.num_attention_heads", kv_heads = "model.num_key_value_heads";
const std::string width = "model.hidden_size", head_dim = "model.head_dim";

Key kv_heads_key(const json& value) {
  return obeyed(kv_heads, integer, value, from_to(1, 1e6),
                value.is_null()
                    ? "key and value heads; left out or null: num_attention_heads"
                    : fmt::format("key and value heads; left out: {} for any num_attention_heads, "
                                  "as at Hugging Face; null: num_attention_heads",
                                  value.get<int>()))
      .or_null();
}

Key head_dim_key(const json& value) {
  return obeyed(head_dim, integer, value, from_to(1, 1e6),
                value.is_null()
                    ? "width of a head; null: hidden_size / num_attention_heads"
                    : fmt::format("width of a head; left out: {}, as at Hugging Face; null: "
                                  "hidden_size / num_attention_heads",
                                  value.get<int>()))
      .or_null();
}

// Heads and their widths.
void read_heads(Settings& s, ModelConfig& m, ErrorList& errors) {
  const bool own_width = s.has(head_dim) || !s.sound({head_dim});
  const auto width_of_head = own_width ? std::vector{head_dim} : std::vector{width, heads};
  need(own_width || m.hidden % m.heads == 0, {width, heads}, s, width,
       fmt::format("{} is not a multiple of model.num_attention_heads {}", m.hidden, m.heads),
       errors);
  derive(s, kv_heads, m.heads);
  derive(s, head_dim, std::max(1, m.hidden / m.heads));
  m.kv_heads = static_cast<int>(s.integer(kv_heads));
  const bool said = s.at(kv_heads).source != "default";
  need(m.heads % m.kv_heads == 0, {heads, kv_heads}, s, kv_heads,
       fmt::format("{}{} does not divide model.num_attention_heads {}", m.kv_heads,
                   said ? "" : ", Hugging Face's default,", m.heads),
       errors);
  m.head_size = static_cast<int>(s.integer(head_dim));
  need(m.head_size % 2 == 0, width_of_head, s, head_dim,
       fmt::format("{} is odd (rotary positions turn pairs)", m.head_size), errors);
  constexpr double widest = std::numeric_limits<int>::max();
  need((m.heads + 2.0 * m.kv_heads) * m.head_size <= widest, {head_dim, width, heads, kv_heads}, s,
       head_dim,
       fmt::format("{} x {} heads is wider than {:.0f}, the most that a matrix may be", m.head_size,
                   m.heads, widest),
       errors);
}

}  // namespace

std::vector<Key> decoder_keys(const DecoderDefaults& d, const char* activation_key,
                              std::vector<std::string> activations) {
  std::vector<Key> k;
  k.push_back(obeyed("model.num_hidden_layers", integer, d.layers, from_to(1, most_blocks),
                     "transformer blocks"));
  k.push_back(obeyed(heads, integer, d.heads, from_to(1, 1e6), "query heads"));
  k.push_back(kv_heads_key(d.kv_heads));
  k.push_back(head_dim_key(d.head_size));
  k.push_back(obeyed(width, integer, d.hidden, from_to(1, 1e7), "hidden width"));
  k.push_back(obeyed("model.intermediate_size", integer, d.intermediate, from_to(1, 1e8),
                     "width of the MLP"));
  k.push_back(obeyed("model.max_position_embeddings", integer, d.positions, from_to(1, 1e9),
                     "longest sequence")
                  .in("tokens"));
  k.push_back(
      obeyed("model.vocab_size", integer, d.vocabulary, from_to(1, 1e9), "vocabulary, unpadded")
          .in("tokens"));
  k.push_back(obeyed("model.rms_norm_eps", number, d.epsilon, above(0),
                     "added to the mean square in RMSNorm"));
  k.push_back(obeyed("model.tie_word_embeddings", boolean, d.tied, anything(),
                     "the head is the token embedding"));
  k.push_back(obeyed(std::string("model.") + activation_key, string, activations.front(),
                     one_of(activations), "activation of the MLP's gate"));
  k.push_back(obeyed("model.attention_dropout", number, 0.0, from_below(0, 1),
                     "dropout of attention weights")
                  .in("probability"));
  std::ranges::move(rope_section_keys(d.theta), std::back_inserter(k));
  return k;
}

std::vector<Key> foreign_keys(std::initializer_list<const char*> obeyed) {
  struct Foreign {
    const char* name;
    KeyType type;
    json value;
    const char* meaning;
  };
  std::vector<Foreign> foreign = {
      {"partial_rotary_factor", number, 1.0, "share of each head with rotary positions"},
      {"qk_norm", boolean, false, "normalised queries and keys"},
      {"use_qk_norm", boolean, false, "normalised queries and keys"},
      {"qk_layernorm", boolean, false, "normalised queries and keys"},
      {"attn_logit_softcapping", number, nullptr, "bounded values"},
      {"final_logit_softcapping", number, nullptr, "bounded values"},
      {"clip_qkv", number, nullptr, "bounded values"},
      {"num_experts", integer, nullptr, "mixture of experts"},
      {"num_local_experts", integer, nullptr, "mixture of experts"}};
  for (const auto* name : {"attention_multiplier", "embedding_multiplier", "residual_multiplier",
                           "logits_scaling", "logit_scale"})
    foreign.push_back({name, number, 1.0, "factor on a part of the model"});
  std::vector<Key> k;
  for (const Foreign& key : foreign)
    if (std::ranges::none_of(obeyed,
                             [&](const char* name) { return std::string(name) == key.name; }))
      k.push_back(refused(std::string("model.") + key.name, key.type, key.value, key.meaning,
                          "this architecture has none"));
  return k;
}

Key attention_bias_key(bool value) {
  return obeyed("model.attention_bias", boolean, value, anything(),
                "biases of the query, key, value and output maps");
}

Key mlp_bias_key() {
  return obeyed("model.mlp_bias", boolean, false, anything(), "biases of the MLP's maps");
}

void read_decoder(Settings& s, ModelConfig& m, ErrorList& errors) {
  m.layers = static_cast<int>(s.integer("model.num_hidden_layers"));
  m.heads = static_cast<int>(s.integer(heads));
  m.hidden = static_cast<int>(s.integer(width));
  read_heads(s, m, errors);
  m.intermediate = static_cast<int>(s.integer("model.intermediate_size"));
  m.positions = static_cast<int>(s.integer("model.max_position_embeddings"));
  m.norm_epsilon = static_cast<float>(s.number("model.rms_norm_eps"));
  m.attention_dropout = static_cast<float>(s.number("model.attention_dropout"));
  const auto said = [&](const char* key) { return s.has(key) && s.boolean(key); };
  m.qkv_bias = m.attention_output_bias = said("model.attention_bias");
  m.mlp_bias = said("model.mlp_bias");
  read_rope_section(s, m, errors);
}

void write_decoder(const ModelConfig& m, nlohmann::ordered_json& root) {
  root["num_hidden_layers"] = m.layers;
  root["num_attention_heads"] = m.heads;
  root["num_key_value_heads"] = m.kv_heads;
  root["head_dim"] = m.head_size;
  root["hidden_size"] = m.hidden;
  root["intermediate_size"] = m.intermediate;
  root["max_position_embeddings"] = m.positions;
  root["vocab_size"] = m.vocabulary;
  root["rms_norm_eps"] = shortest(m.norm_epsilon);
  root["rope_theta"] = m.rope_theta;
  write_rope_scaling(m.rope_scaling, root);
  root["hidden_act"] = "silu";
  root["attention_dropout"] = shortest(m.attention_dropout);
}

void derive(Settings& s, const std::string& path, std::int64_t value) {
  if (!s.has(path)) s.resolve(path, value, "default");
}

void need(bool ok, const std::vector<std::string>& of, Settings& s, const std::string& path,
          const std::string& text, ErrorList& errors) {
  if (!ok && s.sound(of)) s.error(errors, path, text);
}

nlohmann::ordered_json shortest(float value) {
  return nlohmann::ordered_json::parse(fmt::format("{}", value)).get<double>();
}

}  // namespace triax
