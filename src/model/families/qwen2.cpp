// SPDX-License-Identifier: Apache-2.0
// Qwen2 and Qwen2.5: a Llama with biases of the query, key and value maps.
#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {

std::vector<Key> keys() {
  std::vector<Key> k = decoder_keys(
      {.intermediate = 22016, .positions = 32768, .vocabulary = 151936, .kv_heads = 32});
  for (Key& key : qwen_window_keys()) k.push_back(std::move(key));
  k.push_back(refused("model.use_mrope", KeyType::boolean, false, "rotary positions of images",
                      "triax has text positions only"));
  for (Key& key : foreign_keys()) k.push_back(std::move(key));
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  read_decoder(s, m, errors);
  m.qkv_bias = true;
  read_qwen_windows(s, m, errors);
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  write_qwen_windows(m, root);
}

}  // namespace

const Family qwen2 = {.name = "qwen2",
                      .classes = {"Qwen2ForCausalLM", "Qwen2Model"},
                      .block = llama_block,
                      .keys = keys,
                      .sizes = decoder_sizes,
                      .read = read,
                      .write = write};

}  // namespace triax::families
