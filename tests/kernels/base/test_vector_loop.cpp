#include "kernels/base/vector_loop.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "kernels/base/lane_sum.hpp"

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

// Terms that are not zero where there is no element must not show.
TEST(VectorLoop, SumsHaveTheBitsOfLaneSums) {
  for (const std::int64_t n : lengths) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1F + static_cast<float>(i % 7) * 0.3F;
    const float* p = x.data();
    const auto shifted = [=](std::int64_t i, auto lanes) { return lanes.load(p + i) + 0.7F; };
    const float expected = lane_sum<float>(n, [=](std::int64_t i) { return p[i] + 0.7F; });
    EXPECT_EQ(vector_sum(n, shifted), expected) << n;
    float both[2];
    vector_sums(both, n, [=](std::int64_t i, auto lanes, const auto& add) {
      add(0, lanes.load(p + i));
      add(1, shifted(i, lanes));
    });
    EXPECT_EQ(both[0], lane_sum<float>(n, [=](std::int64_t i) { return p[i]; })) << n;
    EXPECT_EQ(both[1], expected) << n;
  }
}

}  // namespace
}  // namespace triax
