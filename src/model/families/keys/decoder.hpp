// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys of config.json that Llama and its relatives share, and what triax makes of them.
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/keys/key.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// Largest number of blocks: partition_blocks takes time quadratic in them, for each chunk.
inline constexpr double most_blocks = 1e4;

/// Defaults of transformers' config class of a family.
struct DecoderDefaults {
  int layers = 32, heads = 32, hidden = 4096, intermediate = 11008;
  int positions = 2048, vocabulary = 32000;
  nlohmann::json kv_heads = nullptr;   // null: as many as heads
  nlohmann::json head_size = nullptr;  // null: hidden / heads
  double epsilon = 1e-6;
  double theta = 10000.0;
  bool tied = false;
};

/// Rows of a family's keys: its sizes, norms, head, rotary positions (rope_section_keys), attention
/// dropout, and the activation, which `activation_key` holds.
std::vector<Key> decoder_keys(const DecoderDefaults& defaults,
                              const char* activation_key = "hidden_act",
                              std::vector<std::string> activations = {"silu", "swish"});
/// Rows of keys of related models that compute something else, all but those called `obeyed`.
/// config.json names such a model by this family's name at times.
std::vector<Key> foreign_keys(std::initializer_list<const char*> obeyed = {});
/// Rows of attention_bias, of all four maps of attention, and of mlp_bias.
Key attention_bias_key(bool value = false);
Key mlp_bias_key();

/// Keys of every decoder's shape.
inline const std::vector<const char*> decoder_sizes = {"num_hidden_layers", "num_attention_heads",
                                                       "hidden_size", "vocab_size"};

/// Reads decoder_keys and checks that they agree. Biases: those of attention_bias and mlp_bias, if
/// the family has these keys.
void read_decoder(Settings& settings, ModelConfig& model, ErrorList& errors);
/// Writes decoder_keys, with hidden_act "silu".
void write_decoder(const ModelConfig& model, nlohmann::ordered_json& root);

/// Stores the default of a key that equals another key's value.
void derive(Settings& settings, const std::string& path, std::int64_t value);
/// Reports `text` unless `ok`. `of` are the keys compared: if one is itself wrong, nothing is
/// reported.
void need(bool ok, const std::vector<std::string>& of, Settings& settings, const std::string& path,
          const std::string& text, ErrorList& errors);
/// The shortest decimal that reads back as the same float: 1e-05, not 9.99999974737875e-06. Never
/// an integer, which transformers refuses for some keys.
nlohmann::ordered_json shortest(float value);

}  // namespace triax
