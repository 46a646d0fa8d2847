// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options for keeping parameters and gradients, and the buffers that a plan requires.
#include <vector>

#include "src/state/offload/offload_store.hpp"
#include "src/state/parameter_block.hpp"

namespace triax {

/// How a stage's parameters and gradients are kept.
struct StateOptions {
  DataShard shard = {};     // sharding of this data rank
  DType type = DType::f32;  // type of the parameters
  DType gradient_type = DType::f32;
  MemorySpace space = MemorySpace::host;  // of both, except for what is in a store
  OffloadLocation location = {};          // location of parameter shards in a store
  DeviceArena* arena = nullptr;  // memory of that space; null: each region is allocated separately
  MemorySource memory() const { return {space, arena}; }
};

/// Number of buffers for whole buckets, of which a rank keeps only its shard. One pool per bucket
/// size; a verified plan's peaks give the counts.
struct WholeBuffers {
  std::vector<int> pool = {};       // by bucket
  std::vector<int> gradients = {};  // buffers per pool (ZeRO-2)
  std::vector<int> gathered = {};   // buffers per pool (ZeRO-3)
  std::vector<int> shards = {};     // buffers per pool for shards from a store
};

}  // namespace triax
