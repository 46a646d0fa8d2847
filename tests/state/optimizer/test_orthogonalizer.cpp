// SPDX-License-Identifier: Apache-2.0
// Its results on grids: tests/parity/optimizer/test_muon.cpp.
#include "src/state/optimizer/orthogonalizer.hpp"

#include <gtest/gtest.h>

#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

TEST(Orthogonalizer, TakesNothingWithoutMatrices) {
  const Stage stage(golden_model("llama-tiny"), {}, 16);
  EXPECT_EQ(Orthogonalizer::bytes_of(lay_out_blocks(stage, {})), 0);
}

TEST(Orthogonalizer, HasTheDirectionsOfABucketAndAWholeMatrix) {
  const ModelConfig model = divisible_model("llama", false);
  for (const auto& stage : stages_of(model, {.tensor = 2})) {
    const std::vector<ParameterBlock> blocks = lay_out_blocks(*stage, {.matrices_apart = true});
    std::int64_t directions = 0, whole = 0;
    for (const ParameterBlock& block : blocks)
      if (block.matrices) directions = std::max(directions, block.elements);
    for (const GlobalTensor& tensor : global_tensors(model))
      if (tensor.matrix) whole = std::max(whole, tensor.shape.elements());
    constexpr std::int64_t width = sizeof(float);
    EXPECT_GT(directions, 0);
    EXPECT_GE(Orthogonalizer::bytes_of(blocks), width * (directions + 2 * whole));
    EXPECT_LE(Orthogonalizer::bytes_of(blocks), width * (directions + 4 * whole) + 1024);
  }
}

// One rank: the directions of each tensor, queries apart from keys, become nearly orthogonal.
TEST(Orthogonalizer, TreatsEachTensorOfAParameterAlone) {
  OptimizerConfig config;
  config.type = "Muon";
  config = complete(config);
  const ModelConfig model = golden_model("llama-tiny");
  const Stage stage(model, {}, 16);
  ProcessGrid grid(MPI_COMM_SELF, {});
  ParameterStore store(stage, grid, {.shard = {.matrices_apart = true}});
  Orthogonalizer orthogonalizer(store, config, *optimizer_rule("Muon").matrices);
  for (int b = 0; b < std::ssize(store.blocks()); ++b) {
    const ParameterBlock& block = store.blocks()[static_cast<std::size_t>(b)];
    if (!block.matrices) continue;
    const Tensor all = orthogonalizer.direction({0, block.elements});
    auto* values = static_cast<float*>(all.data());
    for (std::int64_t i = 0; i < block.elements; ++i)
      values[i] = static_cast<float>((i * i + 3 * i) % 101 - 50);
    orthogonalizer.orthogonalize(Stream(), b);
    for (const PlacedParameter& param : block.params)
      for (const BlockMatrix& matrix : matrices_of(param)) {
        double squares = 0.0;
        for (const Piece* piece : matrix.pieces)
          for_each_run({piece, 0, piece->extent.elements()}, param.spec.shape,
                       [&](std::int64_t at, std::int64_t, std::int64_t count) {
                         for (std::int64_t i = 0; i < count; ++i) {
                           const double value = values[param.offset + at + i];
                           squares += value * value;
                         }
                       });
        const double rows = static_cast<double>(matrix.global[0]);
        const double columns = static_cast<double>(matrix.global[1]);
        const double factor = std::max(1.0, rows / columns);  // squared
        EXPECT_LT(squares, 1.5 * factor * std::min(rows, columns)) << matrix.pieces.front()->name;
        EXPECT_GT(squares, 0.5) << matrix.pieces.front()->name;
      }
  }
}

}  // namespace
}  // namespace triax::test
