// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/cache_size.hpp"

#include <gtest/gtest.h>

#include "tests/inference/engine/engine_model.hpp"

namespace triax::test {
namespace {

TEST(CheckOptions, NamesTheKey) {
  EXPECT_NO_THROW(check_options({}));
  EXPECT_THROW(check_options({.cache_dtype = DType::f16}), UsageError);
  for (const std::int64_t tokens : {0, 8, 24, 256})
    EXPECT_THROW(check_options({.block_tokens = tokens}), UsageError) << tokens;
  EXPECT_THROW(check_options({.memory_fraction = 0.0}), UsageError);
  EXPECT_THROW(check_options({.memory_fraction = 1.5}), UsageError);
  EXPECT_THROW(check_options({.tokens_per_step = 0}), UsageError);
  EXPECT_THROW(check_options({.sequences = 0}), UsageError);
}

// As many as the requests need, else as many as the memory holds, else a refusal.
TEST(CacheBlocks, FollowRequestsAndMemory) {
  EngineModel own("llama-odd", 40);
  const EngineOptions options{.memory_fraction = 0.5, .tokens_per_step = 8, .sequences = 10};
  EXPECT_EQ(cache_blocks_of(own.model(), options, 1e12), 30)
      << "3 blocks of 16 for a text of 40 tokens";
  const auto workspace = static_cast<double>(PagedModel::workspace_bytes(own.model(), 8));
  const auto block = static_cast<double>(PagedModel::block_bytes(own.model(), options));
  EXPECT_EQ(cache_blocks_of(own.model(), options, 2.0 * (workspace + 7.5 * block)), 7);
  EXPECT_THROW(cache_blocks_of(own.model(), options, 2.0 * (workspace + 2.5 * block)), UsageError);
  const EngineOptions narrow{.cache_dtype = DType::bf16};
  EXPECT_EQ(PagedModel::block_bytes(own.model(), narrow) * 2, static_cast<std::int64_t>(block));
}

TEST(MemoryLeft, IsSome) {
  EngineModel own("llama-odd", 40);
  EXPECT_GT(memory_left(own.grid()), 0.0);
}

}  // namespace
}  // namespace triax::test
