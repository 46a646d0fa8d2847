// SPDX-License-Identifier: Apache-2.0
#include "src/model/linear.hpp"

#include "kernels/reference/fp8.hpp"
#include "kernels/reference/matmul.hpp"
#include "tests/model/map_run.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t rows = 7, inputs = 6, outputs = 10;

Linear column_of(WeightOrder order, bool bias) {
  return Linear::column(
      "map", order, inputs,
      {{"a.weight", bias ? "a.bias" : "", 4, 0, 4}, {"b.weight", bias ? "b.bias" : "", 6, 0, 6}},
      0.02F);
}

struct LinearRun : MapRun<Linear> {
  explicit LinearRun(const Linear& linear, bool fp8 = false) : MapRun(linear, shape_of(fp8)) {}
  static BatchShape shape_of(bool fp8) {
    BatchShape made = batch_shape(1, rows, {});
    made.fp8 = fp8;
    return made;
  }
};

class LinearTest : public testing::TestWithParam<std::tuple<WeightOrder, bool>> {};

TEST_P(LinearTest, ColumnParallelIsTheReference) {
  const auto [order, bias] = GetParam();
  const Linear map = column_of(order, bias);
  ASSERT_EQ(map.outputs(), outputs);
  ASSERT_EQ(map.has_bias(), bias);
  LinearRun run(map);
  std::vector<float> x = random_floats(rows * inputs, 1), dy = random_floats(rows * outputs, 2);
  std::vector<float> y(dy.size()), dx(x.size());
  const Values w = order == WeightOrder::input_output
                       ? widened(run.values[0])
                       : transposed(widened(run.values[0]), outputs, inputs);

  map.forward(run.context(), run.weights.data(), Tensor(x.data(), {rows, inputs}),
              Tensor(y.data(), {rows, outputs}));
  Values expected = reference::matmul(widened(x), w, rows, outputs, inputs);
  for (std::size_t i = 0; bias && i < expected.size(); ++i)
    expected[i] += run.values[1][i % outputs];
  expect_close(y, expected, 1e-6, "y");

  map.backward_input(run.context(), run.weights.data(), Tensor(dy.data(), {rows, outputs}),
                     Tensor(dx.data(), {rows, inputs}));
  expect_close(
      dx, reference::matmul(widened(dy), transposed(w, inputs, outputs), rows, inputs, outputs),
      1e-6, "dx");

  Values dw =
      reference::matmul(transposed(widened(x), rows, inputs), widened(dy), inputs, outputs, rows);
  if (order == WeightOrder::output_input) dw = transposed(dw, inputs, outputs);
  const Values db = reference::matmul(Values(rows, 1.0), widened(dy), 1, outputs, rows);
  for (const bool accumulate : {false, true}) {
    for (Gradient& gradient : run.gradient_views) gradient.accumulate = accumulate;
    map.backward_weight(run.context(), run.gradient_views.data(), Tensor(x.data(), {rows, inputs}),
                        Tensor(dy.data(), {rows, outputs}));
    const auto times = [&](Values values) {
      for (double& value : values) value *= accumulate ? 2.0 : 1.0;
      return values;
    };
    expect_close(run.gradients[0], times(dw), 1e-6, "dw");
    if (bias) expect_close(run.gradients[1], times(db), 1e-6, "db");
  }
}

// Weights and activations are quantised to one format, gradients to the other, the bias gradient to
// neither.
TEST_P(LinearTest, InEightBitsItIsTheReferenceOfWhatIsQuantised) {
  const auto [order, bias] = GetParam();
  const Linear map = column_of(order, bias);
  LinearRun run(map, true);
  std::vector<float> x = random_floats(rows * inputs, 1), dy = random_floats(rows * outputs, 2);
  std::vector<float> y(dy.size()), dx(x.size());
  const Tensor x_view(x.data(), {rows, inputs}), dy_view(dy.data(), {rows, outputs});
  const Values x8 = reference::fp8_quantise(Float8::e4m3, widened(x));
  const Values dy8 = reference::fp8_quantise(Float8::e5m2, widened(dy));
  Values w8 = reference::fp8_quantise(Float8::e4m3, widened(run.values[0]));
  if (order == WeightOrder::output_input) w8 = transposed(w8, outputs, inputs);

  map.forward(run.context(), run.weights.data(), x_view, Tensor(y.data(), {rows, outputs}));
  Values expected = reference::matmul(x8, w8, rows, outputs, inputs);
  for (std::size_t i = 0; bias && i < expected.size(); ++i)
    expected[i] += run.values[1][i % outputs];
  expect_close(y, expected, 1e-6, "y");

  map.backward_input(run.context(), run.weights.data(), dy_view, Tensor(dx.data(), {rows, inputs}));
  expect_close(dx, reference::matmul(dy8, transposed(w8, inputs, outputs), rows, inputs, outputs),
               1e-6, "dx");

  map.backward_weight(run.context(), run.gradient_views.data(), x_view, dy_view);
  Values dw = reference::matmul(transposed(x8, rows, inputs), dy8, inputs, outputs, rows);
  if (order == WeightOrder::output_input) dw = transposed(dw, inputs, outputs);
  expect_close(run.gradients[0], dw, 1e-6, "dw");
  if (bias)
    expect_close(run.gradients[1], reference::column_sums(widened(dy), rows, outputs), 1e-6, "db");
  EXPECT_EQ(run.scratch.used(), 0U);
  EXPECT_EQ(run.scratch.high_water(), map.scratch_bytes(run.shape));
}

INSTANTIATE_TEST_SUITE_P(Orders, LinearTest,
                         testing::Combine(testing::Values(WeightOrder::input_output,
                                                          WeightOrder::output_input),
                                          testing::Bool()));

TEST(LinearPieces, AColumnParallelMapIsItsPartsOneAfterAnother) {
  const Linear map = Linear::column("qkv", WeightOrder::output_input, inputs,
                                    {{"q", "", 8, 4, 4}, {"k", "", 4, 2, 2, 0, 2, false}}, 0.02F);
  const ParameterSpec& weight = map.params().front();
  EXPECT_EQ(weight.shape, (Shape{6, inputs}));
  ASSERT_EQ(weight.pieces.size(), 2U);
  EXPECT_EQ(weight.pieces[0].begin, (Shape{4, 0}));
  EXPECT_EQ(weight.pieces[0].extent, (Shape{4, inputs}));
  EXPECT_TRUE(weight.pieces[0].owner);
  EXPECT_FALSE(weight.pieces[0].partial);
  EXPECT_EQ(weight.pieces[1].at, (Shape{4, 0}));
  EXPECT_EQ(weight.pieces[1].copies, 2);
  EXPECT_FALSE(weight.pieces[1].owner);
  EXPECT_TRUE(weight.pieces[1].partial);  // each copy saw its own query heads
}

TEST(LinearPieces, PartsOfOneNamedTensorHaveOffsets) {
  const Linear map =
      Linear::column("qkv", WeightOrder::input_output, inputs,
                     {{"c_attn", "bias", 12, 2, 2, 0}, {"c_attn", "bias", 12, 2, 2, 4}}, 0.02F);
  EXPECT_EQ(map.params()[0].pieces[1].begin, (Shape{0, 6}));
  EXPECT_EQ(map.params()[0].pieces[1].at, (Shape{0, 2}));
  EXPECT_EQ(map.params()[1].pieces[1].begin, (Shape{6}));
}

// The bias of a row-parallel map is added after the sum over ranks: whole on every rank, and
// partial if the rows are sharded.
TEST(LinearPieces, ARowParallelBiasIsReplicated) {
  for (const bool sequence_parallel : {false, true}) {
    const Linear map = Linear::row("output", WeightOrder::input_output, {"w", "b", 8, 4, 4}, 5,
                                   {2, 1, sequence_parallel}, 0.02F);
    EXPECT_EQ(map.inputs(), 4);
    EXPECT_EQ(map.params()[0].pieces[0].begin, (Shape{4, 0}));
    const Piece& bias = map.params()[1].pieces[0];
    EXPECT_EQ(bias.copies, 2);
    EXPECT_FALSE(bias.owner);
    EXPECT_EQ(bias.partial, sequence_parallel);
  }
}

}  // namespace
}  // namespace triax::test
