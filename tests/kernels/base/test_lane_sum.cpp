#include "kernels/base/lane_sum.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace triax {
namespace {

TEST(LaneSum, AddsEveryTermOnce) {
  for (const std::int64_t n : {0, 1, 63, 64, 65, 127, 128, 1000})
    EXPECT_EQ(lane_sum<double>(n, [](std::int64_t i) { return static_cast<double>(i + 1); }),
              static_cast<double>(n * (n + 1) / 2))
        << n << " terms";
}

TEST(LaneSum, LongFloatSumsKeepTheirPrecision) {
  constexpr std::int64_t n = 100000;
  const double exact = static_cast<double>(0.1F) * n;
  float chain = 0.0F;
  for (std::int64_t i = 0; i < n; ++i) chain += 0.1F;
  const float sum = lane_sum<float>(n, [](std::int64_t) { return 0.1F; });
  EXPECT_LT(std::fabs(sum - exact), 0.1 * std::fabs(chain - exact));
}

}  // namespace
}  // namespace triax
