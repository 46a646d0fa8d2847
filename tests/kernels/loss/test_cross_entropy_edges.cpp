// SPDX-License-Identifier: Apache-2.0
// Rows of logits outside the usual range, in every type: 16-bit types use other code than float32.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/loss/cross_entropy.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

class CrossEntropyEdges : public testing::TestWithParam<DType> {
 protected:
  struct Results {
    float largest, sum, loss, loss_in_one_pass;
    std::vector<float> gradient, gradient_in_one_pass;
  };
  // Results of one row, by two passes and by one.
  Results results(const std::vector<float>& logits, std::int32_t label,
                  const LogitOptions& options = {}) const {
    const auto columns = static_cast<std::int64_t>(logits.size());
    test::Array first(GetParam(), logits), second(GetParam(), logits);
    const Shape row = {1, columns};
    std::vector<std::int32_t> labels = {label};
    std::vector<float> stats(3), loss(1), lse(1), other(1);
    const Tensor of(labels.data(), {1}), lse_of(lse.data(), {1}), loss_of(loss.data(), {1});
    test::run(cross_entropy_stats, Tensor(stats.data(), {1, 3}), first.tensor(row), of, 0, columns,
              options);
    test::run(cross_entropy_loss, loss_of, lse_of, Tensor(stats.data(), {1, 1, 3}), of, options);
    test::run(cross_entropy_backward, first.tensor(row), lse_of, of, 0, columns, 1.0F, options);
    test::run(cross_entropy, Tensor(other.data(), {1}), second.tensor(row), of, columns, 1.0F,
              options);
    return {stats[0], stats[1], loss[0], other[0], first.floats(), second.floats()};
  }
  double rounding() const { return test::rounding_of(GetParam()); }
};

TEST_P(CrossEntropyEdges, LargeLogitsDoNotOverflow) {
  const Results of = results({1000.0F, 999.0F, -1000.0F}, 1);
  const double spread = 1000.0F - of.largest + 1.0;  // 1, as far as rounding to the type leaves it
  EXPECT_EQ(of.largest, 1000.0F);
  if (GetParam() == DType::bf16) return;  // bf16 cannot represent 999
  EXPECT_NEAR(of.loss, spread + std::log1p(std::exp(-1.0)), 1e-5);
  EXPECT_NEAR(of.loss_in_one_pass, of.loss, 1e-6);
}

// A sure logit has no loss, exactly, however large it is: the largest logit's exponent is 0.
TEST_P(CrossEntropyEdges, ASureLogitHasNoLoss) {
  std::vector<float> values = {90.0F, 1000.0F, 30000.0F, 60000.0F};
  if (GetParam() != DType::f16) values.push_back(3e38F);
  for (const float value : values) {
    std::vector<float> row(64, 0.0F);
    row[5] = value;
    const Results of = results(row, 5);
    EXPECT_EQ(of.sum, 1.0F) << value;
    EXPECT_EQ(of.loss, 0.0F) << value;
    EXPECT_EQ(of.loss_in_one_pass, 0.0F) << value;
    EXPECT_NEAR(of.gradient[5], 0.0, 4e-6) << value;
    EXPECT_NEAR(of.gradient_in_one_pass[5], 0.0, 4e-6) << value;
  }
}

// Exponentials are relative to the largest of the first 2048 logits. They are coarse in 16 bits,
// but no loss is negative.
TEST_P(CrossEntropyEdges, NoLossIsNegative) {
  for (float value = 30.0F; value < 60.0F; value += 0.25F) {
    std::vector<float> row(3000, 0.0F);
    row[2500] = value;
    const Results of = results(row, 2500);
    EXPECT_GE(of.loss, 0.0F) << value;
    EXPECT_GE(of.loss_in_one_pass, 0.0F) << value;
    EXPECT_NEAR(of.loss, 0.0, 1e-5) << value;
  }
}

// Rows that end within a vector: lanes without an element count for nothing, whatever the logits.
TEST_P(CrossEntropyEdges, LowRowsOfAnyLength) {
  // On a device each row is a dozen of allocations and copies.
  const float step = test::space() == MemorySpace::device ? 3.25F : 0.25F;
  for (const std::int64_t columns : {1, 17, 100, 2047, 8193, 50257})
    for (float low = -400.0F; low < 120.0F; low += columns < 8000 ? step : 44.5F) {
      std::vector<float> row(static_cast<std::size_t>(columns), low);
      const Results of = results(row, 0);
      const double expected = std::log(static_cast<double>(columns));
      ASSERT_NEAR(of.loss, expected, 4e-6 * std::fabs(double{low}) + 1e-5)
          << columns << ", " << low;
      ASSERT_NEAR(of.loss_in_one_pass, of.loss, 4e-5) << columns << " of " << low;
      ASSERT_NEAR(of.gradient.back() * static_cast<double>(columns), columns == 1 ? 0.0 : 1.0,
                  1e-4 + rounding())
          << columns << " of " << low;
    }
}

TEST_P(CrossEntropyEdges, LowLogitsBehindMaskedOnesCount) {
  constexpr std::int64_t columns = 20000, masked = 4500;
  for (const float low : {-80.0F, -200.0F, -60000.0F}) {
    std::vector<float> row(columns, low);
    std::fill_n(row.begin(), masked, -infinity);
    const Results of = results(row, columns - 1);
    EXPECT_EQ(of.largest, test::Array(GetParam(), std::vector<float>{low}).floats()[0]);
    EXPECT_NEAR(of.sum, columns - masked, 0.1);
    EXPECT_NEAR(of.gradient[0], 0.0, 1e-30);
  }
}

TEST_P(CrossEntropyEdges, NotANumberShows) {
  for (const float bad : {not_a_number, -not_a_number, infinity})
    for (const std::size_t at : {0, 1, 2047, 2048, 9000, 9999}) {
      std::vector<float> row(10000, 0.5F);
      row[at] = bad;
      const Results of = results(row, 3);
      EXPECT_FALSE(std::isfinite(of.loss)) << bad << " at " << at << ": a diverged run is seen";
      EXPECT_FALSE(std::isfinite(of.loss_in_one_pass)) << bad << " at " << at;
    }
  EXPECT_TRUE(std::isnan(results({0.0F, not_a_number, 1.0F}, 0).loss));
  EXPECT_TRUE(std::isnan(results({0.0F, not_a_number, 1.0F}, 0).loss_in_one_pass));
}

// Logits beyond a soft cap count as the cap, whatever they are; NaN does not.
TEST_P(CrossEntropyEdges, LogitsBeyondTheSoftCap) {
  constexpr LogitOptions options{.soft_cap = 30.0F};
  for (const float high : {1e4F, infinity}) {
    const Results of = results({high, -high, 0.0F}, 2, options);
    EXPECT_EQ(of.largest, 30.0F);
    EXPECT_NEAR(of.loss, 30.0, 1e-5);
    EXPECT_EQ(of.loss_in_one_pass, of.loss);
    EXPECT_EQ(of.gradient[0], 0.0F) << "a saturated logit does not change the loss";
    EXPECT_NEAR(of.gradient[2], -1.0, 1e-6);
    EXPECT_EQ(of.gradient_in_one_pass, of.gradient);
  }
  EXPECT_TRUE(std::isnan(results({0.0F, not_a_number, 1.0F}, 0, options).loss));
  EXPECT_TRUE(std::isnan(results({0.0F, not_a_number, 1.0F}, 0, options).loss_in_one_pass));
}

INSTANTIATE_TEST_SUITE_P(Types, CrossEntropyEdges, test::every_type());

}  // namespace
}  // namespace triax
