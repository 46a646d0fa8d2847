// SPDX-License-Identifier: Apache-2.0
// A map in few bits against the plain map with its decoded weight.
#include "src/model/quantized/quantized_linear.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "src/state/weights/quantized/quantize_box.hpp"
#include "tests/model/layer_run.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t map_rows = 5, map_inputs = 192;

struct Case {
  const char* format;
  WeightOrder order;
};

// A map of two named tensors, plain and packed, with the same weights.
class QuantizedLinearTest : public testing::TestWithParam<Case> {
 protected:
  static Linear plain_of(WeightOrder order) {
    return Linear::column("map", order, map_inputs,
                          {{"a.weight", "a.bias", 60, 7, 50}, {"b.weight", "b.bias", 81, 0, 81}},
                          0.02F);
  }
  QuantizedLinearTest()
      : plain_(plain_of(GetParam().order)),
        map_(plain_, GetParam().order, {GetParam().format, 4}),
        grid_(MPI_COMM_SELF, {}) {
    const PackedWeight& weight = *map_.params()[0].packed;
    packed_.resize(static_cast<std::size_t>(map_.params()[0].shape.elements()));
    decoded_.resize(static_cast<std::size_t>(plain_.params()[0].shape.elements()));
    bias_ = random_floats(plain_.outputs(), 3);
    for (const PackedPart& part : weight.parts) fill(part);
  }

  // Quantizes a part's tensor, and puts its decoded rows into the plain weight.
  void fill(const PackedPart& part) {
    const std::vector<float> values = random_floats(part.box.outputs * map_inputs, part.output + 9);
    FlatMatrix matrix(part.name, {part.box.outputs, map_inputs}, false,
                      [&](std::int64_t begin, const Tensor& out) {
                        std::copy_n(values.data() + begin, out.elements(), out.as<float>());
                      });
    const PackedParts parts(part.box, bytes_of(packed()).slice(0, part.begin, part.box.bytes()));
    quantize_box(part.box, parts, matrix);
    std::vector<float> scales(static_cast<std::size_t>(part.box.scales()));
    std::vector<float> tile(static_cast<std::size_t>(part.box.rows * map_inputs));
    const Tensor all(scales.data(), {part.box.scales()});
    if (part.box.nested()) unpack_scales(Stream{}, all, part.box, parts);
    decode_tile(Stream{}, Tensor(tile.data(), {part.box.rows, map_inputs}), part.box, parts,
                part.box.nested() ? all : parts.scales, 0, 0);
    const bool output_first = GetParam().order == WeightOrder::output_input;
    for (std::int64_t o = 0; o < part.box.rows; ++o)
      for (std::int64_t i = 0; i < map_inputs; ++i) {
        const std::int64_t row = part.output + o;
        decoded_[static_cast<std::size_t>(output_first ? row * map_inputs + i
                                                       : i * plain_.outputs() + row)] =
            tile[static_cast<std::size_t>(o * map_inputs + i)];
        const float original =
            values[static_cast<std::size_t>((part.box.first_output + o) * map_inputs + i)];
        ASSERT_NEAR(tile[static_cast<std::size_t>(o * map_inputs + i)], original, 0.5F);
      }
  }
  Tensor packed() { return {packed_.data(), map_.params()[0].shape}; }
  Tensor decoded() { return {decoded_.data(), plain_.params()[0].shape}; }
  Tensor bias() { return {bias_.data(), {plain_.outputs()}}; }

  Context context(Arena& scratch) {
    return {.stream = stream_,
            .tensor = grid_.tensor(),
            .shard = shard_,
            .shape = shape_,
            .scratch = scratch,
            .tokens = {},
            .labels = {},
            .loss_sum = {}};
  }
  void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 1e-4F) << i;
  }

  Linear plain_;
  QuantizedLinear map_;
  ProcessGrid grid_;
  Stream stream_;
  TensorShard shard_;
  BatchShape shape_ = batch_shape(1, map_rows, {});
  std::vector<float> packed_, decoded_, bias_;
};

TEST_P(QuantizedLinearTest, IsThePlainMapOfItsDecodedWeight) {
  Buffer memory(map_.scratch_bytes(shape_) + plain_.scratch_bytes(shape_));
  Arena scratch(memory);
  const Context ctx = context(scratch);
  const std::vector<Tensor> kept = {packed(), bias()}, plain = {decoded(), bias()};
  const std::int64_t outputs = plain_.outputs();
  std::vector<float> x = random_floats(map_rows * map_inputs, 1),
                     dy = random_floats(map_rows * outputs, 2);
  const auto pass = [&](const LinearMap& map, const Tensor* weights, bool gelu) {
    std::vector<float> y(static_cast<std::size_t>(map_rows * outputs)), hidden(y.size());
    map.forward(ctx, weights, Tensor(x.data(), {map_rows, map_inputs}),
                Tensor(y.data(), {map_rows, outputs}),
                gelu ? Tensor(hidden.data(), {map_rows, outputs}) : Tensor{});
    y.insert(y.end(), hidden.begin(), hidden.end());
    return y;
  };
  for (const bool gelu : {false, true})
    expect_near(pass(map_, kept.data(), gelu), pass(plain_, plain.data(), gelu));
  const auto back = [&](const LinearMap& map, const Tensor* weights, bool gelu) {
    std::vector<float> dx(static_cast<std::size_t>(map_rows * map_inputs)), again(dx.size());
    std::vector<float> before = random_floats(map_rows * map_inputs, 4);
    GeluGradient through;
    if (gelu)
      through = {Tensor(before.data(), {map_rows, map_inputs}),
                 Tensor(again.data(), {map_rows, map_inputs})};
    map.backward_input(ctx, weights, Tensor(dy.data(), {map_rows, outputs}),
                       Tensor(dx.data(), {map_rows, map_inputs}), through);
    dx.insert(dx.end(), again.begin(), again.end());
    return dx;
  };
  for (const bool gelu : {false, true})
    expect_near(back(map_, kept.data(), gelu), back(plain_, plain.data(), gelu));
}

// The bucket reserves enough on every tensor rank, and little more than the format's bits.
TEST_P(QuantizedLinearTest, ReservesItsBytes) {
  const ParameterSpec& weight = map_.params()[0];
  EXPECT_GE(weight.shape.elements() * 4, weight.packed->bytes());
  EXPECT_GE(weight.room(), weight.shape.elements());
  const double bits = 32.0 * static_cast<double>(weight.room()) /
                      static_cast<double>(plain_.params()[0].shape.elements());
  EXPECT_LT(bits, GetParam().format == std::string("int8") ? 8.4 : 4.8);
  EXPECT_EQ(weight.pieces.size(), 2U);
  EXPECT_EQ(map_.params().size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedLinearTest,
                         testing::Values(Case{"nf4", WeightOrder::output_input},
                                         Case{"nf4-double", WeightOrder::output_input},
                                         Case{"int8", WeightOrder::output_input},
                                         Case{"nf4", WeightOrder::input_output},
                                         Case{"int8", WeightOrder::input_output}));

TEST(QuantizedLinear, RefusesAShardThatCutsGroups) {
  const auto made = [](const char* format) {
    const Linear plain = Linear::row("out", WeightOrder::output_input,
                                     {"out.weight", "", 176, 88, 88}, 64, {}, 0.02F);
    QuantizedLinear(plain, WeightOrder::output_input, {format, 4});
  };
  EXPECT_THAT(error_of([&] { made("nf4"); }),
              testing::AllOf(testing::HasSubstr("out.weight cannot be kept in 4 bits"),
                             testing::HasSubstr("inputs [88, 176) of 176")));
  EXPECT_EQ(error_of([&] { made("int8"); }), "");
}

}  // namespace
}  // namespace triax::test
