// SPDX-License-Identifier: Apache-2.0
// Phi-3, Phi-3.5 and Phi-4 (text): a Llama that keeps queries, keys and values in one tensor, and
// gate and up in another.
#include <fmt/format.h>

#include <utility>

#include "src/model/families/keys/decoder.hpp"
#include "src/model/families/keys/rope_scaling.hpp"
#include "src/model/families/keys/windows.hpp"
#include "src/model/families/llama_block.hpp"
#include "src/model/families/rows.hpp"

namespace triax::families {
namespace {
using enum KeyType;

std::vector<Key> keys() {
  std::vector<Key> k = decoder_keys({.hidden = 3072,
                                     .intermediate = 8192,
                                     .positions = 4096,
                                     .vocabulary = 32064,
                                     .epsilon = 1e-5});
  k.push_back(partial_rotary_key(1.0));
  k.push_back(
      obeyed("model.resid_pdrop", number, 0.0, from_below(0, 1), "dropout after attention and MLP")
          .in("probability"));
  k.push_back(accepted("model.embd_pdrop", number, 0.0,
                       "dropout after the embedding; transformers does not use it"));
  k.push_back(window_key(nullptr));
  k.push_back(refused("model.lm_head_bias", boolean, false, "bias of the head",
                      "this architecture has none"));
  for (const char* unused : {"attention_bias", "mlp_bias", "full_attn_mod", "interpolate_factor"})
    k.push_back(accepted(std::string("model.") + unused, any, nullptr,
                         "in published files; transformers does not use it"));
  for (Key& key : foreign_keys({"partial_rotary_factor"})) k.push_back(std::move(key));
  return k;
}

void read(Settings& s, ModelConfig& m, ErrorList& errors) {
  const std::string original = "model.rope_scaling.original_max_position_embeddings";
  constexpr int default_original = 4096;
  const std::string type = "model.rope_scaling.rope_type";
  if (s.string(type) == "default")
    s.put(original, {nullptr, "default", {}, false, Treatment::obeyed});  // all files have it
  else
    derive(s, original, default_original);
  read_decoder(s, m, errors);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = false;
  need(s.string(type) == "default" || s.string(type) == "longrope", {type}, s, type,
       fmt::format("\"{}\" is not for a phi3. Use \"longrope\", or leave it out", s.string(type)),
       errors);
  m.residual_dropout = static_cast<float>(s.number("model.resid_pdrop"));
  m.window = static_cast<int>(said_window(s));
  if (m.window > 0) m.windowed.assign(static_cast<std::size_t>(m.layers), true);
}

void write(const ModelConfig& m, nlohmann::ordered_json& root) {
  write_decoder(m, root);
  root["partial_rotary_factor"] = rotary_share(m);
  root["resid_pdrop"] = shortest(m.residual_dropout);
  root["sliding_window"] = nullptr;
  if (m.window > 0) root["sliding_window"] = m.window;
}

constexpr BlockSpec block = llama_block_with([](BlockSpec& b) {
  b.qkv = QkvLayout::blocks;
  b.names.qkv = {"self_attn.qkv_proj", "", ""};
  b.names.mlp_input = {"mlp.gate_up_proj", ""};
});

}  // namespace

const Family phi3 = {.name = "phi3",
                     .classes = {"Phi3ForCausalLM", "Phi3Model"},
                     .block = block,
                     .keys = keys,
                     .sizes = decoder_sizes,
                     .read = read,
                     .write = write,
                     .rope_kinds = {{"su", "longrope"}, {"yarn", "longrope"}}};

}  // namespace triax::families
