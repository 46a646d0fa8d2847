#pragma once
// How a rank keeps parameters and gradients, and the buffers that its plans ask for.
#include <vector>

#include "src/state/offload/offload_store.hpp"
#include "src/state/parameter_block.hpp"

namespace triax {

/// How a stage's parameters and gradients are kept.
struct StateOptions {
  DataShard shard = {};     // of this data rank
  DType type = DType::f32;  // of the parameters
  DType gradient_type = DType::f32;
  MemorySpace space = MemorySpace::host;  // of both, but for what is in a store
  OffloadPlace place = {};                // of the parameters' shards, where they are in a store
  DeviceArena* arena = nullptr;           // of that space; null: each part has memory of its own
  MemorySource memory() const { return {space, arena}; }
};

/// Buffers for whole blocks, of which a rank keeps its part only: a pool by number of elements, as
/// a verified plan's peaks count them.
struct WholeBuffers {
  std::vector<int> pool = {};       // by block
  std::vector<int> gradients = {};  // buffers at once by pool (ZeRO-2)
  std::vector<int> gathered = {};   // (ZeRO-3)
  std::vector<int> shards = {};     // that came from a store
};

}  // namespace triax
