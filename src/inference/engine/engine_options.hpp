// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of the paged engine: the keys of the section `inference`.
#include <cstdint>
#include <string>

#include "kernels/base/dtype.hpp"

namespace triax {

struct EngineOptions {
  DType cache_dtype = DType::f32;       // of keys and values: f32 or bf16
  std::int64_t block_tokens = 16;       // positions per block of the cache: 16, 32, 64 or 128
  double memory_fraction = 0.9;         // of the memory that is left, which the cache may take
  std::int64_t tokens_per_step = 2048;  // all requests together
  std::int64_t sequences = 256;         // requests computed at once
  bool prefix_cache = true;             // requests share the cache of equal beginnings
  std::int64_t speculate = 0;           // most tokens guessed per text and step (ngram_draft)
  std::string weights = "auto";         // how the model's are held (held_weights)
  std::int64_t cache_blocks = 0;        // for tests; 0: as many as memory and requests allow
};

}  // namespace triax
