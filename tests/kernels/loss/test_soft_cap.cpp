// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/soft_cap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/cross_entropy.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

class SoftCapOfLogits : public testing::TestWithParam<DType> {};

TEST_P(SoftCapOfLogits, AgreesWithReference) {
  constexpr std::int64_t rows = 3, columns = 8192 + 37, stride = columns + 3;
  const test::Array logits = test::Array::random(GetParam(), rows * columns, 1, 20.0F);
  test::Array wide = test::spread(logits, columns, stride, 99.0F);
  for (const float cap : {30.0F, 0.5F}) {
    test::Array capped = logits;
    test::run(soft_cap, capped.tensor({rows, columns}), cap);
    test::expect_close(capped, reference::capped_logits(logits.doubles(), double{cap}), tolerance,
                       "logits");
    if (cap != 30.0F) continue;
    test::run(soft_cap, wide.tensor({rows, stride}).slice(1, 0, columns), cap);
    EXPECT_EQ(wide, test::spread(capped, columns, stride, 99.0F)) << "rows of a wider matrix";
  }
}

TEST_P(SoftCapOfLogits, Edges) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), cap = 2.0F;
  test::Array logits(GetParam(), {0.0F, 1e-4F, -1e-4F, 1e4F, infinity, -infinity, std::nanf("")});
  const std::vector<float> before = logits.floats();
  test::run(soft_cap, logits.tensor({1, 7}), cap);
  const std::vector<float> after = logits.floats();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(after[i], before[i]) << "a small logit stays";
  EXPECT_EQ(after[3], cap);
  EXPECT_EQ(after[4], cap);
  EXPECT_EQ(after[5], -cap);
  EXPECT_TRUE(std::isnan(after[6]));
}

INSTANTIATE_TEST_SUITE_P(Types, SoftCapOfLogits, test::every_type());

TEST(SoftCapAlone, RefusesACapOfZero) {
  if (test::space() == MemorySpace::device) GTEST_SKIP() << "a check of the host";
  std::vector<float> memory(4);
  EXPECT_THROW(test::run(soft_cap, Tensor(memory.data(), {1, 4}), 0.0F), Error);
}

}  // namespace
}  // namespace triax
