// SPDX-License-Identifier: Apache-2.0
#pragma once
// An architecture as data: what its layers compute, and the names and layouts of their tensors. The
// sizes are in ModelConfig.
#include <array>
#include <cstdint>

namespace triax {

/// Order of a linear map's weight in memory and on disk.
enum class WeightOrder : std::uint8_t {
  input_output,  // (in, out): GPT-2's Conv1D
  output_input   // (out, in): torch.nn.Linear
};

enum class NormKind : std::uint8_t { layer_norm, rms_norm };

/// Normalisation of queries and keys before the rotation.
enum class QkNorm : std::uint8_t {
  none,
  head,  // each head by itself; one weight for all heads
  width  // all heads of a token together (OLMo 2)
};

/// Layout of queries, keys and values in the tensors of the checkpoint.
enum class QkvLayout : std::uint8_t {
  three,   // a tensor each
  blocks,  // one tensor: all queries, all keys, all values
  heads    // one tensor: for each key head its queries, its key and its value (GPT-NeoX)
};

/// The MLP between its two linear maps.
enum class Mlp : std::uint8_t {
  gelu,    // ModelConfig::exact_gelu: by erf instead of tanh
  swiglu,  // silu(gate) * up
  geglu    // gelu(gate) * up
};

/// Names of tensors outside the blocks. position_embedding is empty without learned positions.
struct ModelNames {
  const char* base;  // prefix of the model without its head, which some savers leave out
  const char *token_embedding, *position_embedding = "";
  const char* final_norm;  // without ".weight"
  const char* head;
};

/// Names of a block's tensors without ".weight" and ".bias", after `block` and the block's number.
/// An empty name: the block has no such part.
struct BlockNames {
  const char* block;
  const char* attention_norm = "";       // before attention
  const char* attention_post_norm = "";  // of attention's output, before it is added
  const char* mlp_norm = "";             // before the MLP
  const char* mlp_post_norm = "";        // of the MLP's output
  std::array<const char*, 3> qkv = {};   // one name unless QkvLayout::three
  const char *q_norm = "", *k_norm = "";
  const char* attention_output;
  std::array<const char*, 2> mlp_input = {};  // gate and up; one name if one tensor holds both
  const char* mlp_output;
};

struct BlockSpec {
  ModelNames outside;
  BlockNames names;
  NormKind norm = NormKind::rms_norm;
  float norm_offset = 0.0F;  // added to the weights of all RMS norms (Gemma: 1)
  QkvLayout qkv = QkvLayout::three;
  QkNorm qk_norm = QkNorm::none;
  Mlp mlp = Mlp::swiglu;
  WeightOrder order = WeightOrder::output_input;
  bool rotary = true;            // rotary positions
  bool scaled_residual = false;  // maps that add to the residual stream start smaller
  bool gated() const { return mlp != Mlp::gelu; }
};

}  // namespace triax
