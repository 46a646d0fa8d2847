#pragma once
// Weights before the first step: fresh from a counter-based generator, or from safetensors. Either
// way a function of names and global indices, never of the grid.
#include <string>

#include "src/state/parameter_store.hpp"

namespace triax {

/// Fresh weights: each tensor from its own stream of (seed, name).
void initialize_weights(const Stream& stream, const ParameterStore& store, std::uint64_t seed);

/// Weights from a directory of model.safetensors (or its shards). Error for a tensor that is
/// missing or has another shape. Returns the names in the files that the model does not use.
std::vector<std::string> load_weights(const ParameterStore& store, const ModelConfig& model,
                                      const std::string& directory);

}  // namespace triax
