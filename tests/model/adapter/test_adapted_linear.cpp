// SPDX-License-Identifier: Apache-2.0
#include "src/model/adapter/adapted_linear.hpp"

#include "kernels/reference/matmul.hpp"
#include "tests/model/map_run.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t rows = 7, inputs = 6, outputs = 10, rank = 3;
constexpr double scale = 1.5;

// A map of two named tensors, of which the second, outputs 4 to 9, has an adapter.
AdaptedLinear map_of(float dropout = 0.0F, bool adapted = true) {
  const std::vector<LinearPart> parts = {{"a.weight", "a.bias", 4, 0, 4},
                                         {"b.weight", "b.bias", 6, 0, 6}};
  LoraConfig lora;
  lora.dropout = dropout;
  if (adapted) lora.modules["b"] = {rank, 4.5, scale};
  return adapt_column(lora, "map",
                      std::make_shared<Linear>(
                          Linear::column("map", WeightOrder::output_input, inputs, parts, 0.02F)),
                      parts, {});
}

struct Pass : MapRun<AdaptedLinear> {
  explicit Pass(const AdaptedLinear& linear) : MapRun(linear, batch_shape(1, rows, {})) {}
};

// The whole map in doubles: W (outputs, inputs) of base and adapter.
Values whole(const Pass& run) {
  Values w = widened(run.values[0]);
  const Values ba =
      reference::matmul(widened(run.values[3]), widened(run.values[2]), 6, inputs, rank);
  for (std::size_t i = 0; i < ba.size(); ++i) w[4 * inputs + i] += scale * ba[i];
  return w;
}

TEST(AdaptedLinear, IsTheMapOfTheSumOfItsWeights) {
  const AdaptedLinear map = map_of();
  ASSERT_EQ(map.params().size(), 4U);
  EXPECT_EQ(map.params()[2].pieces[0].name, "b.lora_A.weight");
  Pass run(map);
  std::vector<float> x = random_floats(rows * inputs, 1), dy = random_floats(rows * outputs, 2);
  std::vector<float> y(dy.size()), dx(x.size());
  const Tensor x_view(x.data(), {rows, inputs}), dy_view(dy.data(), {rows, outputs});
  const Values w = whole(run);

  map.forward(run.context(), run.weights.data(), x_view, Tensor(y.data(), {rows, outputs}));
  Values expected =
      reference::matmul(widened(x), transposed(w, outputs, inputs), rows, outputs, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += run.values[1][i % outputs];
  expect_close(y, expected, 1e-6, "y");

  map.backward_input(run.context(), run.weights.data(), dy_view, Tensor(dx.data(), {rows, inputs}));
  expect_close(dx, reference::matmul(widened(dy), w, rows, inputs, outputs), 1e-6, "dx");
  EXPECT_EQ(run.scratch.used(), 0U);
  EXPECT_EQ(run.scratch.high_water(), map.scratch_bytes(run.shape));
}

TEST(AdaptedLinear, HasTheGradientsOfTheProductOfBAndA) {
  const AdaptedLinear map = map_of();
  Pass run(map);
  std::vector<float> x = random_floats(rows * inputs, 1), dy = random_floats(rows * outputs, 2);
  const Tensor x_view(x.data(), {rows, inputs}), dy_view(dy.data(), {rows, outputs});
  // d(BA) = scale x the gradient of W's outputs 4 to 9; dB = d(BA) A^T, dA = B^T d(BA).
  const Values dw =
      reference::matmul(transposed(widened(dy), rows, outputs), widened(x), outputs, inputs, rows);
  Values of_product(dw.begin() + 4 * inputs, dw.end());
  for (double& value : of_product) value *= scale;
  const Values a = widened(run.values[2]), b = widened(run.values[3]);
  const Values da = reference::matmul(transposed(b, 6, rank), of_product, rank, inputs, 6);
  const Values db = reference::matmul(of_product, transposed(a, rank, inputs), 6, rank, inputs);
  for (const bool accumulate : {false, true}) {
    for (Gradient& gradient : run.gradient_views) gradient.accumulate = accumulate;
    map.backward_weight(run.context(), run.weights.data(), run.gradient_views.data(), x_view,
                        dy_view);
    const auto times = [&](Values values) {
      for (double& value : values) value *= accumulate ? 2.0 : 1.0;
      return values;
    };
    expect_close(run.gradients[0], times(dw), 1e-6, "dw");
    expect_close(run.gradients[2], times(da), 1e-6, "da");
    expect_close(run.gradients[3], times(db), 1e-6, "db");
  }
}

TEST(AdaptedLinear, ComputesNoGradientOfFrozenTensors) {
  const AdaptedLinear map = map_of();
  Pass run(map);
  std::vector<float> x = random_floats(rows * inputs, 1), dy = random_floats(rows * outputs, 2);
  const auto before = run.gradients;
  run.gradient_views[0].data = run.gradient_views[1].data = run.gradient_views[3].data = {};
  map.backward_weight(run.context(), run.weights.data(), run.gradient_views.data(),
                      Tensor(x.data(), {rows, inputs}), Tensor(dy.data(), {rows, outputs}));
  for (const std::size_t i : {0U, 1U, 3U}) EXPECT_EQ(run.gradients[i], before[i]);
  EXPECT_NE(run.gradients[2], before[2]);
}

// With B = 0 the map has the bits of its base.
TEST(AdaptedLinear, AZeroBChangesNoBit) {
  const AdaptedLinear map = map_of(), plain = map_of(0.0F, false);
  Pass run(map), base(plain);
  std::fill(run.values[3].begin(), run.values[3].end(), 0.0F);
  std::vector<float> x = random_floats(rows * inputs, 1);
  std::vector<float> y(rows * outputs), of_base(y.size()), hidden(y.size());
  const Tensor x_view(x.data(), {rows, inputs});
  for (const bool gelu : {false, true}) {
    const Tensor inner = gelu ? Tensor(hidden.data(), {rows, outputs}) : Tensor{};
    map.forward(run.context(), run.weights.data(), x_view, Tensor(y.data(), {rows, outputs}),
                inner);
    plain.forward(base.context(), base.weights.data(), x_view,
                  Tensor(of_base.data(), {rows, outputs}), inner);
    EXPECT_EQ(y, of_base);
  }
}

// The derivative of y . dy along x and along A, with the mask of the step.
TEST(AdaptedLinear, TheBackwardPassHasTheDropoutOfTheForwardPass) {
  const AdaptedLinear map = map_of(0.5F);
  Pass run(map);
  std::vector<float> x = random_floats(rows * inputs, 1), dy = random_floats(rows * outputs, 2);
  std::vector<float> y(dy.size()), dx(x.size());
  const auto product = [&] {
    map.forward(run.context(), run.weights.data(), Tensor(x.data(), {rows, inputs}),
                Tensor(y.data(), {rows, outputs}));
    double sum = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * dy[i];
    return sum;
  };
  map.backward_input(run.context(), run.weights.data(), Tensor(dy.data(), {rows, outputs}),
                     Tensor(dx.data(), {rows, inputs}));
  map.backward_weight(run.context(), run.weights.data(), run.gradient_views.data(),
                      Tensor(x.data(), {rows, inputs}), Tensor(dy.data(), {rows, outputs}));
  EXPECT_EQ(run.scratch.high_water(), map.scratch_bytes(run.shape));
  const auto derivative = [&](float& at) {  // y is linear in each
    const float kept = at;
    at = kept + 0.5F;
    const double above = product();
    at = kept - 0.5F;
    const double below = product();
    at = kept;
    return above - below;
  };
  for (const std::size_t i : {0U, 13U, 41U}) EXPECT_NEAR(dx[i], derivative(x[i]), 1e-4) << i;
  for (const std::size_t i : {0U, 7U, 17U})
    EXPECT_NEAR(run.gradients[2][i], derivative(run.values[2][i]), 1e-4) << i;
  const double trained = product();
  run.training = false;
  EXPECT_NE(product(), trained);
}

}  // namespace
}  // namespace triax::test
