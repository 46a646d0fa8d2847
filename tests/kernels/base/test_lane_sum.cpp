#include "kernels/base/lane_sum.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(LaneSum, AddsEveryTermOnce) {
  for (const std::int64_t n : {0, 1, 63, 64, 65, 127, 128, 1000})
    EXPECT_EQ(lane_sum<double>(n, [](std::int64_t i) { return static_cast<double>(i + 1); }),
              static_cast<double>(n * (n + 1) / 2))
        << n << " terms";
}

TEST(LaneSum, LongFloatSumsKeepTheirPrecision) {
  constexpr std::int64_t n = 1 << 20;
  EXPECT_NEAR(lane_sum<float>(n, [](std::int64_t) { return 0.1F; }), 0.1 * n, 1e-4 * 0.1 * n)
      << "one chain of additions is off by 1e-2";
}

}  // namespace
}  // namespace triax
