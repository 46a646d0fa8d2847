// SPDX-License-Identifier: Apache-2.0
#include "src/price/step_price.hpp"

#include <gtest/gtest.h>

#include "src/machine/presets.hpp"
#include "src/model/stage/partition.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

StepPrice price_of(const Layout& layout, const Machine& machine) {
  const PlacedConfig config = golden_config(layout, "llama-tiny");
  return step_price(config, step_plans(config), machine);
}

TEST(StepPrice, MoreRanksTakeLessTimeAndSendBytes) {
  Machine machine = *preset("cpu");
  machine.efficiency.kernel_seconds = 0.0;
  machine.inside.latency = machine.between.latency = 1e-8;
  const StepPrice one = price_of({.micro = 1}, machine);
  const StepPrice two = price_of({.data = 2, .micro = 1, .zero = 1}, machine);
  EXPECT_GT(one.seconds, two.seconds);
  EXPECT_EQ(one.bytes, (std::array<double, 3>{}));
  EXPECT_GT(two.bytes[static_cast<std::size_t>(Axis::data)], 0.0);
  EXPECT_EQ(two.bytes[static_cast<std::size_t>(Axis::tensor)], 0.0);
}

TEST(StepPrice, ThePipelineWaitsAsTheFormulaSaysAtMost) {
  const Machine machine = *preset("h100");
  const StepPrice price = price_of({.pipeline = 2, .micro = 1}, machine);
  EXPECT_GT(price.bubble, 0.05);
  EXPECT_LT(price.bubble, 0.6);
}

TEST(Utilisation, CountsAttentionByBothConventions) {
  const PlacedConfig config = golden_config({.micro = 1}, "llama-tiny");
  Machine machine = *preset("cpu");
  const double length = config.data.sequence_length;
  const double tokens = static_cast<double>(config.batch.global) * length;
  const Utilisation one = utilisation(config, machine, 2.0);
  EXPECT_NEAR(one.seen,
              tokens * training_flops_per_token(config.model, config.data.sequence_length) / 2.0 /
                  machine.f32_flops,
              1e-15);
  // The whole square has twice the pairs that causal attention has.
  const double seen = attention_flops_per_token(config.model, config.data.sequence_length);
  EXPECT_NEAR((one.square - one.seen) * machine.f32_flops * 2.0 / tokens / seen, 1.0, 1e-9);
}

}  // namespace
}  // namespace triax::test
