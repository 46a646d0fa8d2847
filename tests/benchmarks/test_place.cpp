// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/place.hpp"

#include <gtest/gtest.h>

namespace triax::benchmark {
namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

TEST(BytesBeyond, IsFourTimesLargeCaches) {
  EXPECT_EQ(bytes_beyond(480 * mebi, 8), 4 * 480 * mebi);
}

TEST(BytesBeyond, LeavesEachThreadEnough) {
  EXPECT_EQ(bytes_beyond(0, 1), 128 * mebi);
  EXPECT_EQ(bytes_beyond(0, 64), 64 * 32 * mebi);
}

}  // namespace
}  // namespace triax::benchmark
