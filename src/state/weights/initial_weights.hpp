#pragma once
// Weights before the first step: fresh from a counter-based generator, or from safetensors. Either
// way a function of names and global indices, never of the grid.
#include <string>

#include "src/state/optimizer/optimizer.hpp"
#include "src/state/weights/huggingface_weights.hpp"

namespace triax {

/// Fresh weights: each tensor from its own stream of (seed, name). The master copy of `optimizer`,
/// where it has one, is filled too: 16-bit weights are that copy rounded, so that a run in 16 bits
/// starts where the float32 run starts.
void initialize_weights(const Stream& stream, ParameterStore& store, std::uint64_t seed,
                        Optimizer* optimizer = nullptr);

/// Weights from a directory of model.safetensors (or its shards). Error for a tensor that is
/// missing or has another shape. The master copy likewise. Returns how names in the files differ
/// from the model's.
WeightNames load_weights(const Stream& stream, ParameterStore& store, const ModelConfig& model,
                         const std::string& directory, Optimizer* optimizer = nullptr);
/// The most that load_weights takes of memory beside the weights themselves, which are of `type` in
/// `space`.
std::int64_t loading_bytes(const ModelConfig& model, DType type,
                           MemorySpace space = MemorySpace::host);

}  // namespace triax
