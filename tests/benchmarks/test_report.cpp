// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/report.hpp"

#include <gtest/gtest.h>

namespace triax::benchmark {
namespace {

TEST(TimingOf, TakesTheMiddleOfTwo) {
  const Timing timing = timing_of({3.0, 1.0});
  EXPECT_DOUBLE_EQ(timing.seconds, 2.0);
  EXPECT_DOUBLE_EQ(timing.spread, 0.5);  // from 1.5 to 2.5
}

// numpy.percentile([1, 2, 4, 8], [25, 50, 75]) is 1.75, 3, 5.
TEST(TimingOf, InterpolatesTheQuartiles) {
  const Timing timing = timing_of({8.0, 2.0, 1.0, 4.0});
  EXPECT_DOUBLE_EQ(timing.seconds, 3.0);
  EXPECT_DOUBLE_EQ(timing.spread, (5.0 - 1.75) / 3.0);
}

TEST(TimingOf, KeepsOneAsItIs) {
  const Timing timing = timing_of({0.25});
  EXPECT_EQ(timing.seconds, 0.25);
  EXPECT_EQ(timing.spread, 0.0);
}

}  // namespace
}  // namespace triax::benchmark
