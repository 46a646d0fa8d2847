// SPDX-License-Identifier: Apache-2.0
#include "src/price/step_times.hpp"

#include <gmock/gmock.h>

#include "src/machine/presets.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

TEST(StepTimes, EveryInstructionHasATime) {
  const Machine machine = *preset("cpu");
  const PlacedConfig config =
      golden_config({.tensor = 2, .pipeline = 2, .data = 2, .micro = 1, .zero = 2, .recompute = 1});
  const StepPlans plans = step_plans(config);
  const StepTimes times(config, machine);
  for (std::size_t s = 0; s < plans.training.size(); ++s)
    for (const Op& op : plans.training[s]) {
      const OpTime time = times.of(static_cast<int>(s), op);
      EXPECT_GE(time.holds, 0.0) << text_of(op);
      EXPECT_GE(time.transfer, 0.0) << text_of(op);
      // Data rank 0 may keep no gradient that is summed over the tensor axis.
      const bool takes_time =
          group_of(op.kind) == OpGroup::compute || (sends(op.kind) && op.kind != OpKind::TensorSum);
      EXPECT_EQ(takes_time, takes_time && time.holds + time.transfer > 0.0) << text_of(op);
    }
}

TEST(StepTimes, OverlapDecidesWhoWaits) {
  Machine machine = *preset("cpu");
  const PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 1});
  const Op reduce{.kind = OpKind::ReduceStart};
  machine.efficiency.overlap = 0.0;
  const OpTime held = StepTimes(config, machine).of(0, reduce);
  machine.efficiency.overlap = 1.0;
  const OpTime beside = StepTimes(config, machine).of(0, reduce);
  EXPECT_GT(held.holds, 0.0);
  EXPECT_EQ(held.transfer, 0.0);
  EXPECT_EQ(beside.holds, 0.0);
  EXPECT_DOUBLE_EQ(beside.transfer, held.holds);
}

TEST(StepTimes, OrthogonalMatricesTakeTheTimeOfTheirIterations) {
  const auto seconds = [](int iterations) {
    auto job = golden_job(read_golden("gpt2-tiny"), {.micro = 1});
    job["optimizer"] = {{"type", "Muon"}, {"params", {{"lr", 1e-3}, {"ns_steps", iterations}}}};
    const PlacedConfig config{load(job, 1).config, {}};
    const Machine machine = *preset("h100");
    const StepTimes times(config, machine);
    const StepPlans plans = step_plans(config);
    double sum = 0.0;
    for (const Op& op : plans.training[0])
      if (op.kind == OpKind::Orthogonalize) sum += times.of(0, op).holds;
    return sum;
  };
  EXPECT_GT(seconds(5), 0.0);
  EXPECT_DOUBLE_EQ(seconds(10), 2.0 * seconds(5));
}

TEST(StepTimes, StagesOnOneNodeSendFaster) {
  const Machine machine = *preset("h100");
  PlacedConfig config = golden_config({.pipeline = 2, .micro = 1});
  const Op send{.kind = OpKind::SendActivationStart};
  const double apart = StepTimes(config, machine).of(0, send).transfer;
  config.place.ranks_sharing[static_cast<std::size_t>(Axis::pipeline)] = 2;
  EXPECT_LT(StepTimes(config, machine).of(0, send).transfer, apart);
}

TEST(CheckType, RefusesATypeThatTheMachineLacks) {
  Config config = golden_config({.micro = 1});
  config.precision.type = DType::bf16;
  EXPECT_NO_THROW(check_type(config, *preset("a100")));
  EXPECT_THROW(check_type(config, *preset("v100")), UsageError);
  config.precision.fp8 = true;
  EXPECT_THROW(check_type(config, *preset("a100")), UsageError);
}

}  // namespace
}  // namespace triax::test
