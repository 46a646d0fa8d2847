// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/node_memory.hpp"

#include <gmock/gmock.h>

#include "kernels/base/check.hpp"

namespace triax::benchmark {
namespace {

TEST(NodeMemory, HoldsALittle) {
  EXPECT_EQ(lacking_memory("a case", 4096.0, 2), "");
  EXPECT_NO_THROW(require_memory("a case", 4096.0, 2));
}

// An exabyte: all ranks of a node count together.
TEST(NodeMemory, SaysWhatDoesNotFit) {
  EXPECT_THAT(lacking_memory("a case", 1e15, 1000),
              ::testing::StartsWith("a case needs 1e+06 GB on each of 1000 rank(s) of a node"));
  EXPECT_THROW(require_memory("a case", 1e15, 1000), UsageError);
}

}  // namespace
}  // namespace triax::benchmark
