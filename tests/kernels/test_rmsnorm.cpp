#include "kernels/rmsnorm.hpp"

#include <gtest/gtest.h>

#include "kernels/reference/rmsnorm.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr float epsilon = 1e-6F;
constexpr double tolerance = 2e-6;

struct Size {
  std::int64_t rows, columns;
};

class RmsNorm : public testing::TestWithParam<Size> {
 protected:
  std::vector<float> random(std::int64_t count, unsigned seed) {
    return test::random_values(count, seed);
  }
  Tensor matrix(std::vector<float>& values) { return Tensor(values.data(), {rows, columns}); }
  Tensor row(std::vector<float>& values) { return Tensor(values.data(), {columns}); }

  void backward(std::vector<float>& out, std::vector<float>& upstream, const Tensor& residual,
                bool accumulate) {
    test::Scratch scratch(rmsnorm_scratch_bytes(rows, columns));
    rmsnorm_backward(Stream(), matrix(out), row(dweight), matrix(upstream), residual, matrix(x),
                     row(weight), epsilon, accumulate, scratch.arena());
    EXPECT_EQ(scratch.arena().used(), 0U);
  }

  std::int64_t rows = GetParam().rows;
  std::int64_t columns = GetParam().columns;
  std::vector<float> x = random(rows * columns, 1);
  std::vector<float> dy = random(rows * columns, 2);
  std::vector<float> weight = random(columns, 3);
  std::vector<float> dx = random(rows * columns, 5);  // what was there must not show
  std::vector<float> dweight = random(columns, 6);
};

TEST_P(RmsNorm, ForwardAgreesWithReference) {
  const auto expected = reference::rmsnorm_forward(test::widen(x), test::widen(weight), epsilon);
  rmsnorm_forward(Stream(), matrix(dx), matrix(x), row(weight), epsilon);
  test::expect_close(dx, expected, tolerance, "y");
  rmsnorm_forward(Stream(), matrix(x), matrix(x), row(weight), epsilon);
  EXPECT_EQ(x, dx) << "in place";
}

TEST_P(RmsNorm, BackwardAgreesWithReference) {
  const auto gradients =
      reference::rmsnorm_backward(test::widen(dy), test::widen(x), test::widen(weight), epsilon);
  backward(dx, dy, {}, false);
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");
  backward(dy, dy, {}, false);
  EXPECT_EQ(dy, dx) << "dx may be dy";
}

TEST_P(RmsNorm, BackwardAddsResidualAndAccumulates) {
  std::vector<float> residual = random(rows * columns, 8);
  auto gradients =
      reference::rmsnorm_backward(test::widen(dy), test::widen(x), test::widen(weight), epsilon);
  for (std::size_t i = 0; i < residual.size(); ++i) gradients.dx[i] += residual[i];
  for (std::size_t c = 0; c < dweight.size(); ++c) gradients.dweight[c] += dweight[c];
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

INSTANTIATE_TEST_SUITE_P(Sizes, RmsNorm,
                         testing::Values(Size{1, 7}, Size{1, 64}, Size{3, 37}, Size{65, 128},
                                         Size{200, 33}, Size{7, 1600}));

TEST(RmsNormReference, GradientsAreThoseOfTheForwardPass) {
  const auto x = test::widen(test::random_values(3 * 8, 1));
  const auto dy = test::widen(test::random_values(3 * 8, 2));
  const auto weight = test::widen(test::random_values(8, 3));
  const auto gradients = reference::rmsnorm_backward(dy, x, weight, epsilon);
  using Values = std::vector<double>;
  const auto loss = [&](const Values& at, const Values& gain) {
    return test::dot(reference::rmsnorm_forward(at, gain, epsilon), dy);
  };
  test::expect_gradient([&](const Values& v) { return loss(v, weight); }, x, gradients.dx, "dx");
  test::expect_gradient([&](const Values& v) { return loss(x, v); }, weight, gradients.dweight,
                        "dweight");
}

}  // namespace
}  // namespace triax
