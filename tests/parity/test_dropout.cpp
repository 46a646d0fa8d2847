// SPDX-License-Identifier: Apache-2.0
// Dropout masks depend on the sample, the token and the head, never on the rank: one loss curve on
// every grid.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = std::min(PARITY_STEPS, 10);

nlohmann::json dropout_job(const GoldenCase& golden, const Layout& layout) {
  auto job = golden_job(golden, layout);
  add_dropout(job);
  return job;
}

std::vector<StepMetrics> alone(const nlohmann::json& job) {
  return train(MPI_COMM_SELF, job, steps);
}

TEST(Dropout, IsOneLossCurveOnEveryGrid) {
  const std::vector<Layout> layouts = {
      {.micro = 1},
      {.micro = 4, .recompute = 9},
      {.tensor = 2, .micro = 2},
      {.tensor = 2, .micro = 1, .sequence_parallel = false},
      {.pipeline = 2, .micro = 2},
      {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 1, .recompute = 1},
      {.data = 2, .micro = 2},
      {.data = 2, .micro = 1, .zero = 1},
      {.tensor = 2, .data = 2, .micro = 2},
      {.tensor = 2, .pipeline = 2, .micro = 2, .sequence_parallel = false},
  };
  for (const char* name : {"gpt2-tiny", "gpt2-odd"}) {
    const GoldenCase golden = read_golden(name);
    const auto expected = alone(dropout_job(golden, {.micro = 2}));
    for (const Layout& layout : layouts) {
      if (layout.ranks() != world_size()) continue;
      SCOPED_TRACE(name + (": " + layout.text()));
      const auto found = train(MPI_COMM_WORLD, dropout_job(golden, layout), steps);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(found[i].loss, expected[i].loss, golden_loss_tolerance * expected[i].loss)
            << "step " << i;
        EXPECT_NEAR(found[i].grad_norm, expected[i].grad_norm,
                    golden_norm_tolerance * expected[i].grad_norm)
            << "step " << i;
      }
    }
  }
}

// NEFTune's noise is that of dropout's masks: by sample and element.
TEST(Dropout, NoiseOnEmbeddingsIsOneLossCurveOnEveryGrid) {
  const std::vector<Layout> layouts = {{.micro = 1, .recompute = 9},
                                       {.tensor = 2, .micro = 2},
                                       {.tensor = 2, .micro = 1, .sequence_parallel = false},
                                       {.pipeline = 2, .micro = 2},
                                       {.data = 2, .micro = 1, .zero = 3},
                                       {.tensor = 2, .data = 2, .micro = 2}};
  const GoldenCase golden = read_golden("gpt2-odd");
  const auto job = [&](const Layout& layout, double alpha) {
    auto made = golden_job(golden, layout);
    made["neftune_noise_alpha"] = alpha;
    return made;
  };
  constexpr std::int64_t few = 3;
  const auto expected = train(MPI_COMM_SELF, job({.micro = 2}, 5.0), few);
  const auto plain = train(MPI_COMM_SELF, job({.micro = 2}, 0.0), few);
  EXPECT_GT(std::abs(expected[0].loss - plain[0].loss), 1e-5 * plain[0].loss);
  for (const Layout& layout : layouts) {
    if (layout.ranks() != world_size()) continue;
    SCOPED_TRACE(layout.text());
    const auto found = train(MPI_COMM_WORLD, job(layout, 5.0), few);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].loss, expected[i].loss, golden_loss_tolerance * expected[i].loss) << i;
      EXPECT_NEAR(found[i].grad_norm, expected[i].grad_norm,
                  golden_norm_tolerance * expected[i].grad_norm)
          << i;
    }
  }
}

TEST(Dropout, RecomputeDrawsTheSameMasks) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  EXPECT_EQ(losses_of(alone(dropout_job(golden, {.micro = 2}))),
            losses_of(alone(dropout_job(golden, {.micro = 2, .recompute = 9}))));
}

// Each probability has an effect: setting it changes the losses.
TEST(Dropout, EachPlaceCounts) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const auto plain = alone(golden_job(golden, {.micro = 4}));
  for (const char* place : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) {
    auto job = golden_job(golden, {.micro = 4});
    job["model"][place] = 0.1;
    const auto dropped = alone(job);
    EXPECT_GT(std::abs(dropped[0].loss - plain[0].loss), 1e-5 * plain[0].loss) << place;
  }
}

TEST(Dropout, MasksFollowTheSeed) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  auto job = dropout_job(golden, {.micro = 4});
  const auto first = alone(job);
  job["run"]["seed"] = 99;
  EXPECT_NE(losses_of(first), losses_of(alone(job)));
}

}  // namespace
}  // namespace triax::test
