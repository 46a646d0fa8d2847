// SPDX-License-Identifier: Apache-2.0
// Qwen3: a Llama with normalised queries and keys, heads of a width of their own, and windows in
// its last blocks if use_sliding_window.
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {

std::vector<Key> keys() {
  std::vector<Key> k = decoder_keys({.intermediate = 22016,
                                     .positions = 32768,
                                     .vocabulary = 151936,
                                     .kv_heads = 32,
                                     .head_size = 128});
  k.push_back(attention_bias_key());
  for (Key& key : qwen_window_keys()) k.push_back(std::move(key));
  for (Key& key : foreign_keys()) k.push_back(std::move(key));
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  read_decoder(s, m, errors);
  read_qwen_windows(s, m, errors);
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  root["attention_bias"] = m.attention_output_bias;
  write_qwen_windows(m, root);
}

constexpr BlockSpec block = llama_block_with([](BlockSpec& b) {
  b.qk_norm = QkNorm::head;
  b.names.q_norm = "self_attn.q_norm";
  b.names.k_norm = "self_attn.k_norm";
});

}  // namespace

const Family qwen3 = {.name = "qwen3",
                      .classes = {"Qwen3ForCausalLM", "Qwen3Model"},
                      .block = block,
                      .keys = keys,
                      .sizes = decoder_sizes,
                      .read = read,
                      .write = write};

}  // namespace triax::families
