// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/rmsnorm.hpp"

#include <gtest/gtest.h>

#include "kernels/activation/elementwise.hpp"
#include "kernels/reference/rmsnorm.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr float epsilon = 1e-6F;
constexpr double tolerance = 2e-6;

struct Size {
  std::int64_t rows, columns;
};

class RmsNorm : public testing::TestWithParam<std::tuple<test::TypePair, Size, float>> {
 protected:
  test::Array random(std::int64_t count, unsigned seed) const {
    return test::Array::random(types.type, count, seed);
  }
  Tensor matrix(test::Array& values) { return values.tensor({rows, columns}); }

  void backward(test::Array& out, test::Array& upstream, const Tensor& residual, bool accumulate) {
    test::Scratch scratch(rmsnorm_scratch_bytes(rows, columns, test::space()));
    test::run(rmsnorm_backward, matrix(out), dweight.tensor(), matrix(upstream), residual,
              matrix(x), weight.tensor(), epsilon, accumulate, scratch.arena(), offset);
    EXPECT_EQ(scratch.arena().used(), 0U);
  }
  reference::RmsNormGradients expected() const {
    return reference::rmsnorm_backward(dy.doubles(), x.doubles(), weight.doubles(), epsilon,
                                       double{offset});
  }

  test::TypePair types = std::get<0>(GetParam());
  std::int64_t rows = std::get<1>(GetParam()).rows;
  std::int64_t columns = std::get<1>(GetParam()).columns;
  float offset = std::get<2>(GetParam());
  test::Array x = random(rows * columns, 1);
  test::Array dy = random(rows * columns, 2);
  test::Array weight = random(columns, 3);
  test::Array dx = random(rows * columns, 5);  // previous contents must not show
  test::Array dweight = test::Array::random(types.gradients, columns, 6);
};

TEST_P(RmsNorm, ForwardAgreesWithReference) {
  const auto expected =
      reference::rmsnorm_forward(x.doubles(), weight.doubles(), epsilon, double{offset});
  test::run(rmsnorm_forward, matrix(dx), matrix(x), weight.tensor(), epsilon, offset);
  test::expect_close(dx, expected, tolerance, "y");
  test::run(rmsnorm_forward, matrix(x), matrix(x), weight.tensor(), epsilon, offset);
  EXPECT_EQ(x, dx) << "in place";
}

// A row whose squares overflow gives NaN. Zeros would let training continue unnoticed.
TEST(RmsNormAlone, OfARowThatOverflowsIsNotANumber) {
  constexpr std::int64_t columns = 100;
  for (const DType type : {DType::f32, DType::bf16}) {
    test::Array x(type, std::vector<float>(columns, -1e20F)), y(type, columns),
        ones(type, std::vector<float>(columns, 1.0F));
    test::run(rmsnorm_forward, y.tensor({1, columns}), x.tensor({1, columns}), ones.tensor(),
              epsilon, 0.0F);
    for (const double value : y.doubles()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST_P(RmsNorm, OfAResidualSumIsThatOfTheSum) {
  test::Array added = random(columns, 8), sum = dx, y = dx, apart = dx;
  for (const bool with_bias : {true, false}) {
    const Tensor bias = with_bias ? added.tensor() : Tensor{};
    test::run(residual_forward, matrix(apart), matrix(x), matrix(dy), bias);
    test::run(rmsnorm_forward, matrix(dx), matrix(apart), weight.tensor(), epsilon, offset);
    test::run(residual_rmsnorm_forward, matrix(y), matrix(sum), matrix(x), matrix(dy), bias,
              weight.tensor(), epsilon, offset);
    EXPECT_EQ(sum, apart);
    EXPECT_EQ(y, dx);
  }
  test::run(residual_rmsnorm_forward, matrix(y), matrix(x), matrix(x), matrix(dy), Tensor{},
            weight.tensor(), epsilon, offset);
  EXPECT_EQ(x, apart) << "the sum may be x";
  EXPECT_EQ(y, dx);
}

TEST_P(RmsNorm, BackwardAgreesWithReference) {
  const auto gradients = expected();
  backward(dx, dy, {}, false);
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");
  test::Array frozen = random(rows * columns, 9);
  test::Scratch scratch(rmsnorm_scratch_bytes(rows, columns, test::space()));
  test::run(rmsnorm_backward, matrix(frozen), Tensor{}, matrix(dy), Tensor{}, matrix(x),
            weight.tensor(), epsilon, false, scratch.arena(), offset);
  EXPECT_EQ(frozen, dx) << "of a frozen weight";
  backward(dy, dy, {}, false);
  EXPECT_EQ(dy, dx) << "dx may be dy";
}

TEST_P(RmsNorm, BackwardAddsResidualAndAccumulates) {
  test::Array residual = random(rows * columns, 8);
  auto gradients = expected();
  test::add(gradients.dx, residual.doubles());
  test::add(gradients.dweight, dweight.doubles());
  const auto before = dweight;
  backward(dx, dy, matrix(residual), true);
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");

  const auto after = dweight;
  dweight = before;
  backward(residual, dy, matrix(residual), true);
  EXPECT_EQ(residual, dx) << "dx may be the residual";
  EXPECT_EQ(dweight, after) << "every run gives the same bits";
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, RmsNorm,
                         testing::Combine(test::every_type_pair(),
                                          testing::Values(Size{1, 7}, Size{1, 64}, Size{3, 37},
                                                          Size{65, 128}, Size{200, 33},
                                                          Size{7, 1600}),
                                          testing::Values(0.0F, 1.0F)));

TEST(RmsNormReference, GradientsAreThoseOfTheForwardPass) {
  const auto x = test::widen(test::random_values(3 * 8, 1));
  const auto dy = test::widen(test::random_values(3 * 8, 2));
  const auto weight = test::widen(test::random_values(8, 3));
  using Values = std::vector<double>;
  for (const double offset : {0.0, 1.0}) {
    const auto gradients = reference::rmsnorm_backward(dy, x, weight, epsilon, offset);
    const auto loss = [&](const Values& at, const Values& gain) {
      return test::dot(reference::rmsnorm_forward(at, gain, epsilon, offset), dy);
    };
    test::expect_gradient([&](const Values& v) { return loss(v, weight); }, x, gradients.dx, "dx");
    test::expect_gradient([&](const Values& v) { return loss(x, v); }, weight, gradients.dweight,
                          "dweight");
  }
}

}  // namespace
}  // namespace triax
