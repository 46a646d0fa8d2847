// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the weights of a model are held in memory for inference: the key inference.weights.
#include <string>

#include "src/inference/model_files.hpp"

namespace triax {

/// Meaning of `asked` (auto, f32, bf16, f16, nf4, nf4-double or int8) for a model's files, computed
/// in `space`. `streamed`: each step reads all weights once, as the paged engine's does. Then auto
/// is the 16-bit type of the files, which changes no bit of a result; else it is f32, since other
/// products widen 16-bit weights each time. UsageError for what is not built.
HeldWeights held_weights(const std::string& asked, const ModelFiles& files, SavedWeights weights,
                         MemorySpace space, bool streamed);

}  // namespace triax
