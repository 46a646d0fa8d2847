// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/optimizer_layout.hpp"

#include <gtest/gtest.h>

#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

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
      EXPECT_TRUE(shared.count() == 0 || run.decays == param.spec.decays()) << param.spec.label;
    }
  }
  std::int64_t in_runs = 0;
  for (const SteppedRun& run : runs) in_runs += run.range.count();
  EXPECT_EQ(covered, stepped);
  EXPECT_EQ(in_runs, stepped);
}

TEST(SteppedRuns, HoldEachElementOnceWithItsDecay) {
  for_each_grid([](const ModelConfig& model, const GridOfStages& grid) {
    for (const auto& stage : stages_of(model, grid))
      for (const int rank : {0, 2})
        for (const ParameterBlock& block :
             lay_out_blocks(*stage, {.size = 3, .rank = rank, .zero_stage = 1})) {
          expect_each_once(block, stepped_runs(block, false));
          expect_each_once(block, stepped_runs(block, true));
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
      EXPECT_EQ(stepped_runs(block, false).size(), 2U) << block.name;
      EXPECT_EQ(stepped_runs(block, true).size(), block.params.size());
    }
}

// Random rounding numbers the elements of each parameter, so each range names its parameter.
TEST(SteppedRuns, ApartTheyAreOneParameterEach) {
  const Stage stage(divisible_model("llama", false), {}, 16);
  for (const ParameterBlock& block : lay_out_blocks(stage, {.size = 2, .rank = 1, .zero_stage = 1}))
    for (const SteppedRun& run : stepped_runs(block, true)) {
      const PlacedParameter& param = block.params[static_cast<std::size_t>(run.parameter)];
      EXPECT_EQ(intersect(run.range, param.range()), run.range);
    }
}

}  // namespace
}  // namespace triax::test
