// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of a model's modules with weights, from the spec of its architecture.
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// The linear maps of a block: "model.layers.3.self_attn.q_proj". A map that holds several (GPT-2's
/// c_attn) is one.
std::vector<std::string> linear_maps(const ModelConfig& model, int block);
/// Embeddings, head and norms.
std::vector<std::string> other_modules(const ModelConfig& model);
/// Last parts of the names of the maps that PEFT adapts unless told otherwise: queries and values,
/// or the one map that holds them.
std::vector<std::string> usual_adapter_targets(const ModelConfig& model);

}  // namespace triax
