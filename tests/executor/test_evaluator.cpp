// SPDX-License-Identifier: Apache-2.0
#include "src/executor/evaluator.hpp"

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t samples = 160;  // in the tokens of gpt2-tiny

// Mean loss of the first `count` samples, from one step with all of them on one rank.
double mean_loss(std::int64_t count) {
  auto job = golden_job(read_golden("gpt2-tiny"), {.micro = 4});
  job["train_batch_size"] = count;
  return train(MPI_COMM_SELF, job, 1).front().loss;
}

// Validation losses written by a run with batches of 12; the last batch of an evaluation has 4
// samples.
std::vector<double> valid_losses(const Layout& layout, std::int64_t eval_steps,
                                 std::int64_t interval) {
  const SharedDirectory directory;
  const GoldenCase golden = read_golden("gpt2-tiny");
  auto job = golden_job(golden, layout);
  job["run"] = {{"directory", directory.path("run")},
                {"steps", 3},
                {"progress", "none"},
                {"eval_interval", interval},
                {"eval_steps", eval_steps}};
  job["data"]["valid"] = {golden.directory + "/tokens.bin"};
  job["data"]["shuffle"] = true;      // applies to training data only
  job["model"]["resid_pdrop"] = 0.1;  // applies to training only
  job["train_batch_size"] = 12;
  job["optimizer"]["params"]["lr"] = 0.0;
  job.erase("scheduler");
  train_to_the_end(job);
  std::vector<double> losses;
  for (const auto& line : metrics_of(directory.path("run")))
    if (line.contains("valid_loss")) losses.push_back(line["valid_loss"]);
  return losses;
}

std::vector<Layout> layouts() {
  switch (world_size()) {
    case 1:
      return {{.micro = 3}, {.micro = 2, .recompute = 9}};
    case 2:
      return {{.tensor = 2, .micro = 3},
              {.data = 2, .micro = 3},
              {.data = 2, .micro = 3, .zero = 3},
              {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 3}};
    default:
      return {{.data = 4, .micro = 3},
              {.pipeline = 2, .data = 2, .micro = 3, .zero = 3},
              {.tensor = 2, .pipeline = 2, .micro = 4}};  // ranks without a sample
  }
}

TEST(Evaluator, IsTheMeanOverAllHeldOutSamples) {
  const double expected = mean_loss(samples);
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    const auto losses = valid_losses(layout, 0, 3);
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_NEAR(losses.front(), expected, golden_loss_tolerance * expected);
  }
}

TEST(Evaluator, ReadsSoManyBatchesAndComesAtItsInterval) {
  const double expected = mean_loss(24);
  const auto losses = valid_losses(layouts().front(), 2, 2);
  ASSERT_EQ(losses.size(), 2U);  // after step 2 and after the last
  for (const double loss : losses) EXPECT_NEAR(loss, expected, golden_loss_tolerance * expected);
}

TEST(Evaluator, ReadsWhatThereIsWhereMoreIsAskedFor) {
  const double expected = mean_loss(samples);
  for (const std::int64_t steps : {samples, std::int64_t{1} << 62}) {
    const auto losses = valid_losses(layouts().front(), steps, 3);
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_NEAR(losses.front(), expected, golden_loss_tolerance * expected);
  }
}

}  // namespace
}  // namespace triax::test
