// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/optimizer_layout.hpp"

#include <gtest/gtest.h>

#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

OptimizerConfig decaying() {
  OptimizerConfig config;
  config.weight_decay = 0.1;
  return config;
}

// Checks that the ranges of a bucket hold each element this rank steps once, with its own weight
// decay.
void expect_each_once(const ParameterBlock& block, const std::vector<SteppedRun>& runs) {
  std::int64_t covered = 0, stepped = 0;
  for (const PlacedParameter& param : block.params) {
    const FlatRange range = intersect(param.range(), block.stepped);
    stepped += range.count();
    for (const SteppedRun& run : runs) {
      const FlatRange shared = intersect(run.range, range);
      covered += shared.count();
      EXPECT_TRUE(shared.count() == 0 || (run.options.weight_decay > 0.0) == param.spec.decays())
          << param.spec.label;
    }
  }
  std::int64_t in_runs = 0;
  for (const SteppedRun& run : runs) in_runs += run.range.count();
  EXPECT_EQ(covered, stepped);
  EXPECT_EQ(in_runs, stepped);
}

// Checks that each element of a tensor lies in one range, which has the tensor's options.
void expect_options_of_tensors(const ParameterBlock& block, const std::vector<SteppedRun>& runs,
                               const OptimizerConfig& config) {
  for (const PlacedParameter& param : block.params)
    for (const Piece& piece : param.spec.pieces) {
      std::int64_t stepped = 0, covered = 0;
      for_each_run(
          intersect(piece, param.spec.shape, 0, param.spec.shape.elements()), param.spec.shape,
          [&](std::int64_t at, std::int64_t, std::int64_t count) {
            const std::int64_t begin = param.offset + at;
            const FlatRange range = intersect({begin, begin + count}, block.stepped);
            stepped += range.count();
            for (const SteppedRun& run : runs) {
              const std::int64_t shared = intersect(run.range, range).count();
              covered += shared;
              EXPECT_TRUE(shared == 0 ||
                          run.options == tensor_options(config, piece.name, param.spec.decays()))
                  << piece.name;
            }
          });
      EXPECT_EQ(covered, stepped) << piece.name;
    }
}

TEST(SteppedRuns, HoldEachElementOnceWithItsDecay) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    for (const auto& stage : stages_of(model, grid))
      for (const int rank : {0, 2})
        for (const ParameterBlock& block :
             lay_out_blocks(*stage, {.size = 3, .rank = rank, .zero_stage = 1})) {
          expect_each_once(block, stepped_runs(block, decaying(), false));
          expect_each_once(block, stepped_runs(block, decaying(), true));
        }
  });
}

// Each range is one kernel launch on a GPU: a layer needs one with decay and one without.
TEST(SteppedRuns, AreFewWhereNothingIsPadded) {
  ModelConfig model = divisible_model("gpt2", true);
  model.intermediate = 64;
  const Stage stage(model, {}, 16);
  for (const ParameterBlock& block : lay_out_blocks(stage, {}))
    if (block.name.find("block") != std::string::npos) {
      EXPECT_EQ(stepped_runs(block, decaying(), false).size(), 2U) << block.name;
      EXPECT_EQ(stepped_runs(block, decaying(), true).size(), block.params.size());
    }
}

// Random rounding numbers the elements of each parameter, so each range names its parameter.
TEST(SteppedRuns, ApartTheyAreOneParameterEach) {
  const Stage stage(divisible_model("llama", false), {}, 16);
  for (const ParameterBlock& block : lay_out_blocks(stage, {.size = 2, .rank = 1, .zero_stage = 1}))
    for (const SteppedRun& run : stepped_runs(block, decaying(), true)) {
      const PlacedParameter& param = block.params[static_cast<std::size_t>(run.parameter)];
      EXPECT_EQ(intersect(run.range, param.range()), run.range);
    }
}

// Three tensors share the matrix of queries, keys and values; each may have options of its own.
TEST(SteppedRuns, AreCutWhereTensorsOfAParameterDiffer) {
  OptimizerConfig config = decaying();
  config.groups = {{"*.k_proj.weight", 0.5, 0.0}, {"*_proj.weight", 1.0, 0.3}};
  for (const int tensor : {1, 2})
    for_each_grid([&](const ModelConfig& model, const GridOfStages& grid) {
      for (const auto& stage : stages_of(model, grid))
        for (const ParameterBlock& block :
             lay_out_blocks(*stage, {.size = tensor, .rank = tensor - 1, .zero_stage = 1}))
          for (const bool apart : {false, true})
            expect_options_of_tensors(block, stepped_runs(block, config, apart), config);
    });
}

TEST(SteppedRuns, AreCutWhereTensorsBeganAtOtherUpdates) {
  const Stage stage(divisible_model("llama", false), {}, 16);
  const std::string name = "model.layers.1.self_attn.k_proj.weight";
  int cut = 0;
  for (const ParameterBlock& block : lay_out_blocks(stage, {})) {
    const auto plain = stepped_runs(block, decaying(), false);
    const auto runs = stepped_runs(block, decaying(), false, {{name, 5}});
    std::int64_t elements = 0;
    for (const SteppedRun& run : runs)
      if (run.options.start == 5) elements += run.range.count();
    if (elements == 0) {
      EXPECT_EQ(runs.size(), plain.size());
      continue;
    }
    ++cut;
    EXPECT_EQ(runs.size(), plain.size() + 2);
    for (const PlacedParameter& param : block.params)
      for (const Piece& piece : param.spec.pieces)
        if (piece.name == name) {
          EXPECT_EQ(elements, piece.extent.elements());
        }
  }
  EXPECT_EQ(cut, 1);
}

}  // namespace
}  // namespace triax::test
