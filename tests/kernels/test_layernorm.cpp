#include "kernels/layernorm.hpp"

#include <gtest/gtest.h>

#include "kernels/reference/layernorm.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr float epsilon = 1e-5F;
constexpr double tolerance = 2e-6;

struct Size {
  std::int64_t rows, columns;
};

class LayerNorm : public testing::TestWithParam<Size> {
 protected:
  void SetUp() override {
    for (float& value : x) value = 3.0F * value + 0.5F;  // a mean to take off
  }

  std::vector<float> random(std::int64_t count, unsigned seed) {
    return test::random_values(count, seed);
  }
  Tensor matrix(std::vector<float>& values) { return Tensor(values.data(), {rows, columns}); }
  Tensor row(std::vector<float>& values) { return Tensor(values.data(), {columns}); }

  void backward(std::vector<float>& out, std::vector<float>& upstream, const Tensor& residual,
                bool accumulate) {
    test::Scratch scratch(layernorm_scratch_bytes(rows, columns));
    layernorm_backward(Stream(), matrix(out), row(dweight), row(dbias), matrix(upstream), residual,
                       matrix(x), row(weight), epsilon, accumulate, scratch.arena());
    EXPECT_EQ(scratch.arena().used(), 0U);
    EXPECT_EQ(scratch.arena().high_water(), layernorm_scratch_bytes(rows, columns));
  }

  reference::LayerNormGradients expected() const {
    return reference::layernorm_backward(test::widen(dy), test::widen(x), test::widen(weight),
                                         epsilon);
  }

  std::int64_t rows = GetParam().rows;
  std::int64_t columns = GetParam().columns;
  std::vector<float> x = random(rows * columns, 1);
  std::vector<float> dy = random(rows * columns, 2);
  std::vector<float> weight = random(columns, 3);
  std::vector<float> bias = random(columns, 4);
  std::vector<float> dx = random(rows * columns, 5);  // what was there must not show
  std::vector<float> dweight = random(columns, 6);
  std::vector<float> dbias = random(columns, 7);
};

TEST_P(LayerNorm, ForwardAgreesWithReference) {
  const auto expected =
      reference::layernorm_forward(test::widen(x), test::widen(weight), test::widen(bias), epsilon);
  layernorm_forward(Stream(), matrix(dx), matrix(x), row(weight), row(bias), epsilon);
  test::expect_close(dx, expected, tolerance, "y");
  layernorm_forward(Stream(), matrix(x), matrix(x), row(weight), row(bias), epsilon);
  EXPECT_EQ(x, dx) << "in place";
}

TEST_P(LayerNorm, BackwardAgreesWithReference) {
  backward(dx, dy, {}, false);
  const auto gradients = expected();
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");
  test::expect_close(dbias, gradients.dbias, tolerance, "dbias");
}

TEST_P(LayerNorm, BackwardAddsResidualAndAccumulates) {
  std::vector<float> residual = random(rows * columns, 8);
  auto gradients = expected();
  for (std::size_t i = 0; i < residual.size(); ++i) gradients.dx[i] += residual[i];
  for (std::size_t c = 0; c < dbias.size(); ++c) {
    gradients.dweight[c] += dweight[c];
    gradients.dbias[c] += dbias[c];
  }
  const auto dweight_before = dweight;
  const auto dbias_before = dbias;
  backward(dx, dy, matrix(residual), true);
  test::expect_close(dx, gradients.dx, tolerance, "dx");
  test::expect_close(dweight, gradients.dweight, tolerance, "dweight");
  test::expect_close(dbias, gradients.dbias, tolerance, "dbias");

  const auto dweight_after = dweight;
  dweight = dweight_before;
  dbias = dbias_before;
  backward(residual, dy, matrix(residual), true);
  EXPECT_EQ(residual, dx) << "dx may be the residual";
  EXPECT_EQ(dweight, dweight_after) << "every run gives the same bits";
}

TEST_P(LayerNorm, BackwardOverUpstreamGradient) {
  backward(dx, dy, {}, false);
  backward(dy, dy, {}, false);
  EXPECT_EQ(dy, dx);
}

TEST_P(LayerNorm, StridedRows) {
  const std::size_t width = static_cast<std::size_t>(columns);
  const std::size_t stride = width + 3;
  std::vector<float> wide = test::spread(x, width, stride, 7.0F);
  std::vector<float> out = test::spread(dx, width, stride, 7.0F);
  const auto view = [&](std::vector<float>& values) {
    return Tensor(values.data(), {rows, columns + 3}).slice(1, 0, columns);
  };
  layernorm_forward(Stream(), view(out), view(wide), row(weight), row(bias), epsilon);
  layernorm_forward(Stream(), matrix(dx), matrix(x), row(weight), row(bias), epsilon);
  EXPECT_EQ(out, test::spread(dx, width, stride, 7.0F));
}

INSTANTIATE_TEST_SUITE_P(Sizes, LayerNorm,
                         testing::Values(Size{1, 7}, Size{1, 64}, Size{3, 37}, Size{65, 128},
                                         Size{200, 33}, Size{7, 1600}));

TEST(LayerNormBackward, NoRowsClearGradients) {
  std::vector<float> weight(4, 1.0F);
  std::vector<float> dweight(4, 5.0F);
  std::vector<float> dbias(4, 5.0F);
  float nothing = 0.0F;
  const Tensor none(&nothing, {0, 4});
  test::Scratch scratch(64);
  layernorm_backward(Stream(), none, Tensor(dweight.data(), {4}), Tensor(dbias.data(), {4}), none,
                     {}, none, Tensor(weight.data(), {4}), epsilon, false, scratch.arena());
  EXPECT_EQ(dweight, std::vector<float>(4, 0.0F));
  EXPECT_EQ(dbias, std::vector<float>(4, 0.0F));
}

TEST(LayerNormReference, GradientsAreThoseOfTheForwardPass) {
  const auto x = test::widen(test::random_values(3 * 8, 1));
  const auto dy = test::widen(test::random_values(3 * 8, 2));
  const auto weight = test::widen(test::random_values(8, 3));
  const auto bias = test::widen(test::random_values(8, 4));
  const auto gradients = reference::layernorm_backward(dy, x, weight, epsilon);
  using Values = std::vector<double>;
  const auto loss = [&](const Values& at, const Values& gain, const Values& shift) {
    return test::dot(reference::layernorm_forward(at, gain, shift, epsilon), dy);
  };
  test::expect_gradient([&](const Values& v) { return loss(v, weight, bias); }, x, gradients.dx,
                        "dx");
  test::expect_gradient([&](const Values& v) { return loss(x, v, bias); }, weight,
                        gradients.dweight, "dweight");
  test::expect_gradient([&](const Values& v) { return loss(x, weight, v); }, bias, gradients.dbias,
                        "dbias");
}

}  // namespace
}  // namespace triax
