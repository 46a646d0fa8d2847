// SPDX-License-Identifier: Apache-2.0
// OLMo 2 (OLMo et al. 2025) and OLMo 3: norms after attention and MLP instead of before them, and
// of all queries or keys of a token together. In OLMo 3 three of four blocks have a window; scaled
// rotary positions are those of the others.
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/rope_scaling.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

std::vector<Key> shared_keys(double theta) {
  std::vector<Key> k = decoder_keys({.intermediate = 11008,
                                     .positions = 2048,
                                     .vocabulary = 50304,
                                     .epsilon = 1e-5,
                                     .theta = theta});
  k.push_back(attention_bias_key());
  for (Key& key : foreign_keys()) k.push_back(std::move(key));
  return k;
}

std::vector<Key> keys_of_2() {
  std::vector<Key> k = shared_keys(10000.0);
  for (Key& key : no_window_keys()) k.push_back(std::move(key));
  return k;
}

std::vector<Key> keys_of_3() {
  std::vector<Key> k = shared_keys(500000.0);
  k.push_back(window_key(4096));
  k.push_back(layer_types_key());
  k.push_back(local_theta_key(nullptr));
  return k;
}

void read_3(Settings& s, ModelConfig& m, ErrorList& errors) {
  constexpr int pattern = 4;
  read_decoder(s, m, errors);
  read_windows(s, m, said_window(s),
               {nullptr, [](int block) { return (block + 1) % pattern != 0; }}, errors);
  read_local_theta(s, m);
}

void write_2(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  root["attention_bias"] = m.attention_output_bias;
}

void write_3(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_2(m, root);
  write_windows(m, root);
  write_local_rope(m, root);
}

constexpr BlockSpec block = llama_block_with([](BlockSpec& b) {
  b.names.attention_norm = b.names.mlp_norm = "";
  b.names.attention_post_norm = "post_attention_layernorm";
  b.names.mlp_post_norm = "post_feedforward_layernorm";
  b.qk_norm = QkNorm::width;
  b.names.q_norm = "self_attn.q_norm";
  b.names.k_norm = "self_attn.k_norm";
});

}  // namespace

const Family olmo2 = {.name = "olmo2",
                      .classes = {"Olmo2ForCausalLM", "Olmo2Model"},
                      .block = block,
                      .keys = keys_of_2,
                      .sizes = decoder_sizes,
                      .read = read_decoder,
                      .write = write_2};

const Family olmo3 = {.name = "olmo3",
                      .classes = {"Olmo3ForCausalLM", "Olmo3Model"},
                      .block = block,
                      .keys = keys_of_3,
                      .sizes = decoder_sizes,
                      .read = read_3,
                      .write = write_3,
                      .local_rope = true};

}  // namespace triax::families
