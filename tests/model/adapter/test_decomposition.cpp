// SPDX-License-Identifier: Apache-2.0
// Adapters with magnitudes, seen through AdaptedLinear: products and gradients in doubles, both
// orders of weights, dropout.
#include "src/model/adapter/decomposition.hpp"

#include <cmath>

#include "kernels/reference/matmul.hpp"
#include "src/model/adapter/adapted_linear.hpp"
#include "tests/model/map_run.hpp"

namespace triax::test::decomposition {
namespace {

constexpr std::int64_t rows = 7, inputs = 6, outputs = 10, rank = 3;
constexpr double factor = 1.5;

// A column-parallel map. Outputs 4 to 9 have an adapter; all of them where the weight is stored by
// inputs, which is one tensor.
AdaptedLinear map_of(WeightOrder order, float dropout = 0.0F) {
  std::vector<LinearPart> parts = {{"a.weight", "a.bias", 4, 0, 4},
                                   {"b.weight", "b.bias", 6, 0, 6}};
  if (order == WeightOrder::input_output) parts = {{"b.weight", "b.bias", 10, 0, 10}};
  LoraConfig lora;
  lora.dora = true;
  lora.dropout = dropout;
  lora.modules["b"] = {rank, 4.5, factor};
  auto base = std::make_shared<Linear>(Linear::column("map", order, inputs, parts, 0.02F));
  return adapt_column(lora, "map", std::move(base), parts, {});
}

struct Pass : MapRun<AdaptedLinear> {
  Pass(const AdaptedLinear& linear, WeightOrder order)
      : MapRun(linear, batch_shape(1, rows, {})),
        first(order == WeightOrder::input_output ? 0 : 4),
        input_first(order == WeightOrder::input_output) {
    Arena measured;
    map.carve_norms(measured);
    frame.resize(measured.high_water());
    Arena arena(frame.data(), frame.size());
    norms = map.carve_norms(arena);
  }
  void forward() {
    map.forward(context(), weights.data(), Tensor(x.data(), {rows, inputs}),
                Tensor(y.data(), {rows, outputs}), {}, norms);
  }
  void backward() {
    map.backward_input(context(), weights.data(), Tensor(dy.data(), {rows, outputs}),
                       Tensor(dx.data(), {rows, inputs}), {}, norms);
    map.backward_weight(context(), weights.data(), gradient_views.data(),
                        Tensor(x.data(), {rows, inputs}), Tensor(dy.data(), {rows, outputs}),
                        norms);
  }
  // W (outputs, inputs) of the base.
  Values base() const {
    const Values w = widened(values[0]);
    return input_first ? transposed(w, inputs, outputs) : w;
  }
  // W + factor B A of all outputs.
  Values sum() const {
    Values v = base();
    const Values ba =
        reference::matmul(widened(values[3]), widened(values[2]), outputs - first, inputs, rank);
    for (std::size_t i = 0; i < ba.size(); ++i)
      v[static_cast<std::size_t>(first * inputs) + i] += factor * ba[i];
    return v;
  }
  // m / n of an output, and n.
  double norm(const Values& v, std::int64_t o) const {
    double squares = 0.0;
    for (std::int64_t i = 0; i < inputs; ++i)
      squares += std::pow(v[static_cast<std::size_t>(o * inputs + i)], 2.0);
    return std::sqrt(squares);
  }
  double ratio(const Values& v, std::int64_t o) const {
    return o < first ? 1.0 : values[4][static_cast<std::size_t>(o - first)] / norm(v, o);
  }

  std::int64_t first;
  bool input_first;
  std::vector<std::byte> frame;
  Tensor norms;
  std::vector<float> x = random_floats(rows * inputs, 1), dy = random_floats(rows * outputs, 2);
  std::vector<float> y = std::vector<float>(rows * outputs), dx = std::vector<float>(rows * inputs);
};

class DecompositionOf : public testing::TestWithParam<WeightOrder> {};
INSTANTIATE_TEST_SUITE_P(Orders, DecompositionOf,
                         testing::Values(WeightOrder::output_input, WeightOrder::input_output));

TEST_P(DecompositionOf, OutputsHaveTheirMagnitudes) {
  const AdaptedLinear map = map_of(GetParam());
  Pass run(map, GetParam());
  EXPECT_EQ(map.params()[4].pieces[0].name, "b.lora_magnitude_vector");
  const Values v = run.sum();
  run.forward();
  Values expected =
      reference::matmul(widened(run.x), transposed(v, outputs, inputs), rows, outputs, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto o = static_cast<std::int64_t>(i % outputs);
    expected[i] = run.ratio(v, o) * expected[i] + run.values[1][i % outputs];
  }
  expect_close(run.y, expected, 1e-6, "y");
  EXPECT_EQ(run.scratch.used(), 0U);
  EXPECT_LE(run.scratch.high_water(), map.scratch_bytes(run.shape));
}

// The norm counts as a constant.
TEST_P(DecompositionOf, GradientsAreThoseOfScaledOutputs) {
  const AdaptedLinear map = map_of(GetParam());
  Pass run(map, GetParam());
  const Values v = run.sum();
  Values scaled = widened(run.dy), dm(static_cast<std::size_t>(outputs - run.first));
  const Values z =
      reference::matmul(widened(run.x), transposed(v, outputs, inputs), rows, outputs, inputs);
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const auto o = static_cast<std::int64_t>(i % outputs);
    if (o >= run.first)
      dm[static_cast<std::size_t>(o - run.first)] += scaled[i] * z[i] / run.norm(v, o);
    scaled[i] *= run.ratio(v, o);
  }
  run.forward();
  run.backward();
  expect_close(run.dx, reference::matmul(scaled, v, rows, inputs, outputs), 1e-6, "dx");
  expect_close(run.gradients[4], dm, 1e-6, "dm");
  const Values dv =
      reference::matmul(transposed(scaled, rows, outputs), widened(run.x), outputs, inputs, rows);
  Values of_product(dv.begin() + run.first * inputs, dv.end());
  for (double& value : of_product) value *= factor;
  const std::int64_t own = outputs - run.first;
  const Values a = widened(run.values[2]), b = widened(run.values[3]);
  expect_close(run.gradients[2],
               reference::matmul(transposed(b, own, rank), of_product, rank, inputs, own), 1e-6,
               "da");
  expect_close(run.gradients[3],
               reference::matmul(of_product, transposed(a, rank, inputs), own, rank, inputs), 1e-6,
               "db");
  EXPECT_EQ(run.gradients[0], std::vector<float>(run.values[0].size(), 3.0F)) << "frozen";
  EXPECT_LE(run.scratch.high_water(), map.scratch_bytes(run.shape));
}

TEST_P(DecompositionOf, MagnitudesThatAreTheNormsChangeNoBit) {
  const AdaptedLinear map = map_of(GetParam());
  Pass run(map, GetParam());
  std::fill(run.values[3].begin(), run.values[3].end(), 0.0F);
  const Values w = run.base();
  for (std::int64_t o = run.first; o < outputs; ++o)
    run.values[4][static_cast<std::size_t>(o - run.first)] = static_cast<float>(run.norm(w, o));
  run.forward();
  std::vector<float> plain(run.y.size());
  map.base().forward(run.context(), run.weights.data(), Tensor(run.x.data(), {rows, inputs}),
                     Tensor(plain.data(), {rows, outputs}), {});
  EXPECT_EQ(run.y, plain);
}

// As in PEFT: the mask is on the input of all but the base's own product, which keeps its input.
// Derivatives along x and along m, in which y is linear.
TEST_P(DecompositionOf, TheBackwardPassHasTheDropoutOfTheForwardPass) {
  const AdaptedLinear map = map_of(GetParam(), 0.5F);
  Pass run(map, GetParam());
  run.forward();
  run.backward();
  EXPECT_LE(run.scratch.high_water(), map.scratch_bytes(run.shape));
  const auto derivative = [&](float& at) {
    const auto product = [&](float value) {
      at = value;
      run.forward();
      double sum = 0.0;
      for (std::size_t i = 0; i < run.y.size(); ++i)
        sum += static_cast<double>(run.y[i]) * run.dy[i];
      return sum;
    };
    const float kept = at;
    const double found = product(kept + 0.5F) - product(kept - 0.5F);
    at = kept;
    return found;
  };
  for (const std::size_t i : {0U, 13U, 41U}) EXPECT_NEAR(run.dx[i], derivative(run.x[i]), 2e-4);
  for (const std::size_t i : {0U, 5U})
    EXPECT_NEAR(run.gradients[4][i], derivative(run.values[4][i]), 2e-4);
  run.forward();
  const std::vector<float> trained = run.y;
  run.training = false;
  run.forward();
  EXPECT_NE(run.y, trained);
}

// Without an adapter's product and with m = n, dropout has nothing to act on.
TEST_P(DecompositionOf, DropoutLeavesAFreshMapAsItIs) {
  const AdaptedLinear map = map_of(GetParam(), 0.5F);
  Pass run(map, GetParam());
  std::fill(run.values[3].begin(), run.values[3].end(), 0.0F);
  const Values w = run.base();
  for (std::int64_t o = run.first; o < outputs; ++o)
    run.values[4][static_cast<std::size_t>(o - run.first)] = static_cast<float>(run.norm(w, o));
  run.forward();
  const std::vector<float> dropped = run.y;
  run.training = false;
  run.forward();
  for (std::size_t i = 0; i < dropped.size(); ++i) EXPECT_NEAR(dropped[i], run.y[i], 2e-6);
}

}  // namespace
}  // namespace triax::test::decomposition
