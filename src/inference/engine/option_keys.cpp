// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/option_keys.hpp"

#include "src/inference/engine/cache_size.hpp"

namespace triax {

EngineOptions engine_options(const CommandKeys& keys) {
  const auto integer = [&](const char* name) {
    return keys.integer(std::string(engine_section) + name);
  };
  EngineOptions options{
      .cache_dtype = keys.text("inference.cache_dtype") == "bf16" ? DType::bf16 : DType::f32,
      .block_tokens = integer("block_tokens"),
      .memory_fraction = keys.number("inference.memory_fraction"),
      .tokens_per_step = integer("tokens_per_step"),
      .sequences = integer("sequences"),
      .prefix_cache = keys.flag("inference.prefix_cache"),
      .speculate = keys.text("inference.speculate") == "ngram" ? integer("guesses") : 0,
      .weights = keys.text("inference.weights")};
  check_options(options);
  return options;
}

}  // namespace triax
