// SPDX-License-Identifier: Apache-2.0
// Llama (Touvron et al. 2023) and its successors up to Llama 3.3.
#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

std::vector<Key> keys() {
  std::vector<Key> k =
      decoder_keys({.intermediate = 11008, .positions = 2048, .vocabulary = 32000});
  k.push_back(attention_bias_key());
  k.push_back(mlp_bias_key());
  k.push_back(
      accepted("model.pretraining_tp", integer, 1, "how the published weights were trained"));
  for (Key& key : no_window_keys()) k.push_back(std::move(key));
  for (Key& key : foreign_keys()) k.push_back(std::move(key));
  return k;
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  root["attention_bias"] = m.attention_output_bias;
  root["mlp_bias"] = m.mlp_bias;
}

}  // namespace

const Family llama = {.name = "llama",
                      .classes = {"LlamaForCausalLM", "LlamaModel"},
                      .block = llama_block,
                      .keys = keys,
                      .sizes = decoder_sizes,
                      .read = read_decoder,
                      .write = write};

}  // namespace triax::families
