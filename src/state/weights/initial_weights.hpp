// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights before the first step: fresh from a counter-based generator, or from safetensors. Both
// depend on names and global indices only, never on the grid.
#include <string>

#include "src/state/optimizer/optimizer.hpp"
#include "src/state/weights/huggingface_weights.hpp"

namespace triax {

/// Fresh weights: each tensor has its own random stream of (seed, name). The master copy of
/// `optimizer` and its average of weights, if it has them, are filled too: 16-bit weights are that
/// copy rounded, so a 16-bit run starts where the float32 run starts.
void initialize_weights(const Stream& stream, ParameterStore& store, std::uint64_t seed,
                        Optimizer* optimizer = nullptr);

/// Weights from a directory of model.safetensors (or its shards), and the master copy of
/// `optimizer` and its average of weights, if it has them. Error if a tensor is missing or has
/// another shape. Returns how names in the files differ from the model's. Tensors of adapters come
/// from model.lora.from, or are fresh: from `seed`, as in initialize_weights.
WeightNames load_weights(const Stream& stream, ParameterStore& store, const ModelConfig& model,
                         const std::string& directory, Optimizer* optimizer = nullptr,
                         std::uint64_t seed = 0);
/// load_weights of the tensors that no adapter has. Other tensors keep their values.
WeightNames load_base_weights(const Stream& stream, ParameterStore& store, const ModelConfig& model,
                              const std::string& directory);
/// Most bytes load_weights() takes beside the weights themselves, which have `type` and are in
/// `space`.
std::int64_t loading_bytes(const ModelConfig& model, DType type,
                           MemorySpace space = MemorySpace::host);

}  // namespace triax
