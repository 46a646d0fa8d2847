// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/step_verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/comm/grid/process_grid.hpp"

namespace triax {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class StepVerdictTest : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
    grid.emplace(MPI_COMM_WORLD, GridShape{}, std::vector<int>{}, 0.0, MemorySpace::device);
    stream.emplace(MemorySpace::device);
    verdict.emplace(MemorySpace::device);
  }
  // Decides a step with this sum of squares and this loss, without waiting for the device.
  LateNumbers decide(double squares, double loss) {
    memory = {squares, loss};
    const Buffer& there = losses.emplace_back(2 * sizeof(double), MemorySpace::device);
    const Tensor both = there.tensor(DType::f64, {2});
    copy(*stream, both, Tensor(memory.data(), {2}));
    verdict->begin(*stream);
    copy(*stream, verdict->squares(), both.slice(0, 0, 1));
    return verdict->decide(*stream, grid->everywhere(), both.slice(0, 1, 1), {.most = 1.0});
  }
  float factor() {
    float value = 0.0F;
    copy(*stream, Tensor(&value, {1}), verdict->factor());
    stream->synchronize();
    return value;
  }
  std::optional<ProcessGrid> grid;
  std::optional<Stream> stream;
  std::optional<StepVerdict> verdict;
  std::vector<double> memory;
  std::vector<Buffer> losses;
};

// On a device that works late, nothing has happened until somebody waits.
TEST_F(StepVerdictTest, IsFoundWithoutAWait) {
  const LateNumbers first = decide(16.0, 2.5);
  const LateNumbers second = decide(0.25, 3.5);
  if (device_facts().name == "emulated device") {
    EXPECT_EQ(second.read().loss_sum, 0.0) << "the host waited";
  }
  grid->drain(first.arrived());
  EXPECT_EQ(first.read().loss_sum, 2.5);
  EXPECT_EQ(first.read().grad_norm, 4.0);
  grid->drain(second.arrived());
  EXPECT_EQ(first.read().loss_sum, 2.5) << "the one before stays until the next but one";
  EXPECT_EQ(second.read().loss_sum, 3.5);
  EXPECT_EQ(second.read().grad_norm, 0.5);
  EXPECT_EQ(factor(), 1.0F);
}

TEST_F(StepVerdictTest, HoldsAllBehindAStepThatCannotBeUsed) {
  for (const auto& [squares, loss] : {std::pair{nan, 1.0}, std::pair{1.0, nan}}) {
    const LateNumbers bad = decide(squares, loss), good = decide(16.0, 1.0);
    EXPECT_TRUE(std::isnan(factor()));
    EXPECT_FALSE(std::isfinite(bad.read().grad_norm));
    EXPECT_EQ(good.read().grad_norm, 4.0);
    verdict->rearm(*stream);
    decide(16.0, 1.0);
    EXPECT_NEAR(factor(), 0.25, 1e-6);
  }
}

TEST_F(StepVerdictTest, TheHostWaitsForTheSquaresAsItIsTold) {
  decide(16.0, 1.0);
  int waits = 0;
  const auto wait = [&](const Event& event) {
    ++waits;
    grid->drain(event);
  };
  EXPECT_EQ(verdict->read_squares(*stream, wait), 16.0);
  EXPECT_EQ(waits, 1);
}

TEST_F(StepVerdictTest, IsTheHostsWhereItTakesPart) {
  verdict->decide(*stream, 0.125F);
  EXPECT_EQ(factor(), 0.125F);
  EXPECT_EQ(*verdict->host_factor().as<float>(), 0.125F);
}

}  // namespace
}  // namespace triax
