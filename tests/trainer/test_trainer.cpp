// SPDX-License-Identifier: Apache-2.0
// Metrics of a step. tests/parity checks their values.
#include "src/trainer/trainer.hpp"

#include <cmath>

#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

nlohmann::json tiny_job() {
  return golden_job(read_golden("gpt2-deep"), {.micro = 4});
}

TEST(Trainer, CountsTokensAndFlops) {
  auto job = tiny_job();
  job["run"]["peak_flops"] = 1e12;
  const std::vector<StepMetrics> steps = train(MPI_COMM_SELF, job, 2);
  EXPECT_EQ(steps[1].step, 1);
  EXPECT_EQ(steps[1].tokens, 2 * 8 * 16);
  EXPECT_GT(steps[1].step_seconds, 0.0);
  EXPECT_NEAR(steps[1].tokens_per_second * steps[1].step_seconds, 8 * 16, 1e-6);
  EXPECT_GT(steps[1].peak_memory_bytes, 1 << 20);
  // Three times the forward pass: projections, MLP and head with 2 operations per weight, causal
  // scores and values.
  const double weights = 3 * (4 * 32 * 32 + 2 * 32 * 80) + 50 * 32;
  const double attention = 3 * 2 * 32 * 16 / 2;
  ASSERT_TRUE(steps[1].mfu.has_value());
  EXPECT_NEAR(*steps[1].mfu, steps[1].tokens_per_second * 3 * 2 * (weights + attention) / 1e12,
              1e-9);
}

TEST(Trainer, WithoutAKnownPeakThereIsNoMfu) {
  EXPECT_FALSE(train(MPI_COMM_SELF, tiny_job(), 1).front().mfu.has_value());
}

TEST(Trainer, FreshWeightsKnowNothing) {
  auto job = tiny_job();
  job["model"] = {{"config", read_golden("gpt2-deep").directory + "/config.json"}};
  const double loss = train(MPI_COMM_SELF, job, 1).front().loss;
  EXPECT_NEAR(loss, std::log(50.0), 0.05);
  job["run"]["seed"] = 4321;
  EXPECT_NE(train(MPI_COMM_SELF, job, 1).front().loss, loss);
}

TEST(Trainer, StepsThatAreNotFiniteAreSkipped) {
  auto job = tiny_job();
  job.erase("scheduler");
  job["optimizer"]["params"]["lr"] = 1e38;
  const auto steps = train(MPI_COMM_SELF, job, 3);
  EXPECT_FALSE(steps[0].skipped);
  EXPECT_TRUE(steps[1].skipped);
  EXPECT_TRUE(steps[2].skipped);
  EXPECT_FALSE(std::isfinite(steps[2].grad_norm));
}

TEST(Trainer, ATokenOutsideTheVocabularyNamesItsFile) {
  auto job = tiny_job();
  job["data"]["train"] = {read_golden("gpt2-tiny").directory +
                          "/tokens.bin"};  // vocabulary of 256; the model has 50
  EXPECT_THAT(error_of([&] { train(MPI_COMM_SELF, job, 20); }), HasSubstr("gpt2-tiny/tokens.bin"));
}

}  // namespace
}  // namespace triax::test
