// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models and data for benchmarks that train.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "src/config/config.hpp"

namespace triax::benchmark {

/// A model of GPT-2's shape.
ModelConfig gpt2(int layers, int hidden, int heads, int vocabulary);

/// Shapes that benchmarks train, by name: GPT-2's sizes, Llama's with 1B and 8B parameters, and
/// "small", which takes seconds.
const std::map<std::string, ModelConfig>& model_shapes();

/// An llm.c shard of random tokens below `vocabulary` (and 65536), for this process alone. Removed
/// at the end.
class TokenShard {
 public:
  TokenShard(std::int64_t tokens, int vocabulary);
  ~TokenShard();
  TokenShard(const TokenShard&) = delete;
  TokenShard& operator=(const TokenShard&) = delete;
  std::string path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace triax::benchmark
