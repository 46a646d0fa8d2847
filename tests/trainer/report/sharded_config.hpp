// SPDX-License-Identifier: Apache-2.0
#pragma once
// Settings of a job whose state is sharded.
#include "src/plan/placement.hpp"

namespace triax::test {

/// ZeRO's `stage` over `data_ranks` in groups of `shard_size` (0: all).
inline PlacedConfig over(int data_ranks, int stage, int shard_size) {
  PlacedConfig config;
  config.parallel.data = data_ranks;
  config.zero.stage = stage;
  config.zero.shard_size = shard_size;
  return config;
}

}  // namespace triax::test
