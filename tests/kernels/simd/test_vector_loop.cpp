// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/vector_loop.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace triax {
namespace {

constexpr std::int64_t lengths[] = {0, 1, 7, 16, 33, 64, 65, 127, 128, 1000};

TEST(VectorLoop, WritesEveryElementOnceAndNoOther) {
  for (const std::int64_t n : lengths) {
    std::vector<float> from(static_cast<std::size_t>(n) + 2 * vector_floats, 5.0F);
    std::iota(from.begin(), from.end(), 1.0F);
    std::vector<float> to(from.size(), -1.0F);
    constexpr std::int64_t begin = 3;
    for_vectors(begin, begin + n, [&](std::int64_t i, auto lanes) {
      lanes.store(&to[static_cast<std::size_t>(i)],
                  2.0F * lanes.stream(&from[static_cast<std::size_t>(i)]));
    });
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(to.size()); ++i) {
      const bool within = i >= begin && i < begin + n;
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(to[at], within ? 2.0F * from[at] : -1.0F) << n << " from 3, element " << i;
    }
  }
}

TEST(VectorLoop, LanesWithoutElementsAreWhatIsAsked) {
  const float one = 1.0F;
  const FirstLanes lanes{1};
  EXPECT_EQ(lanes.load(&one)[1], 0.0F);
  EXPECT_EQ(lanes.only(FloatVector{} + 2.0F, 3.0F)[0], 2.0F);
  EXPECT_EQ(lanes.only(FloatVector{} + 2.0F, 3.0F)[vector_floats - 1], 3.0F);
}

// The order of sums as plain loops: terms are dealt out to the lanes in turn.
template <class Term>
float lane_sum(std::int64_t n, const Term& term, std::size_t count = 64) {
  std::vector<float> lanes(count, 0.0F);
  for (std::int64_t i = 0; i < n; ++i) lanes[static_cast<std::size_t>(i) % count] += term(i);
  for (std::size_t half = count / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

TEST(VectorLoop, LongSumsKeepTheirPrecision) {
  const std::vector<float> x(100'000, 0.1F);
  const double exact = static_cast<double>(x[0]) * static_cast<double>(x.size());
  const float chain = std::accumulate(x.begin(), x.end(), 0.0F);
  const float sum = vector_sum(
      std::ssize(x), [p = x.data()](std::int64_t i, auto lanes) { return lanes.load(p + i); });
  EXPECT_LT(std::fabs(sum - exact), 0.1 * std::fabs(chain - exact));
}

// (1 + 2^-12)^2 is 1 + 2^-11 + 2^-24. A product rounded before the sum loses the last term, in
// every lane alike. Values beyond the end count for nothing.
TEST(VectorLoop, ProductsAreRoundedWithTheSum) {
  for (const std::int64_t n : {1, 7, 8, 12, 16, 33, 63, 64}) {
    std::vector<float> x(static_cast<std::size_t>(n), 1.0F + 0x1p-12F);
    x.resize(100, std::numeric_limits<float>::quiet_NaN());
    float sum[1];
    vector_sums(sum, n, [&](std::int64_t i, auto lanes, const auto& add) {
      const FloatVector v = lanes.load(x.data() + i);
      add(0, -(v * v));
      add(0, Product{v, v});
    });
    EXPECT_EQ(sum[0], static_cast<float>(n) * 0x1p-24F) << n;
  }
}

// Terms that are not zero beyond the last element must not show.
TEST(VectorLoop, SumsHaveTheBitsOfLaneSums) {
  for (const std::int64_t n : lengths) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1F + static_cast<float>(i % 7) * 0.3F;
    const float* p = x.data();
    const auto shifted = [=](std::int64_t i, auto lanes) { return lanes.load(p + i) + 0.7F; };
    const float expected = lane_sum(n, [=](std::int64_t i) { return p[i] + 0.7F; });
    EXPECT_EQ(vector_sum(n, shifted), expected) << n;
    float both[2];
    vector_sums(both, n, [=](std::int64_t i, auto lanes, const auto& add) {
      add(0, lanes.load(p + i));
      add(1, shifted(i, lanes));
    });
    EXPECT_EQ(both[0], lane_sum(n, [=](std::int64_t i) { return p[i]; })) << n;
    EXPECT_EQ(both[1], expected) << n;
    float shorter[1];
    vector_sums<32>(shorter, n, [=](std::int64_t i, auto lanes, const auto& add) {
      add(0, shifted(i, lanes));
    });
    EXPECT_EQ(shorter[0], lane_sum(
                              n, [=](std::int64_t i) { return p[i] + 0.7F; }, 32))
        << n;
  }
}

}  // namespace
}  // namespace triax
