// SPDX-License-Identifier: Apache-2.0
// Options that change only where and when work is done change no bit of the losses.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = std::min(PARITY_STEPS, 5);

std::vector<StepMetrics> train(const GoldenCase& golden, const Layout& layout) {
  const SubCommunicator ranks(layout.ranks());
  return test::train(ranks.mpi(), golden_job(golden, layout), steps);
}

// Trains without clipping, because the norm is a sum over stages whose order may differ.
std::vector<StepMetrics> train_unclipped(const GoldenCase& golden, const Layout& layout) {
  const SubCommunicator ranks(layout.ranks());
  auto job = golden_job(golden, layout);
  job["gradient_clipping"] = 0.0;
  return test::train(ranks.mpi(), job, steps);
}

// Layouts of `all` whose number of ranks divides this test's.
std::vector<Layout> possible(const std::vector<Layout>& all) {
  std::vector<Layout> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [](const Layout& layout) { return world_size() % layout.ranks() == 0; });
  return some;
}

TEST(Placement, TheSameJobTwiceIsTheSame) {
  const GoldenCase golden = read_golden("qwen2-odd");
  for (const Layout& layout :
       possible({{.micro = 2}, {.tensor = 2, .micro = 2}, {.data = 4, .micro = 1}})) {
    SCOPED_TRACE(layout.text());
    expect_same_bits(train(golden, layout), train(golden, layout));
  }
}

// Stages of one and three blocks, or two and two.
TEST(Placement, BlocksOfStagesChangeNoBit) {
  if (world_size() != 2) GTEST_SKIP() << "needs two stages";
  const GoldenCase golden = read_golden("gpt2-tiny");
  const auto losses = [&](const nlohmann::json& blocks) {
    const SubCommunicator ranks(2);
    auto job = golden_job(golden, {.pipeline = 2, .micro = 2});
    job["gradient_clipping"] = 0.0;
    job["parallel"]["stage_layers"] = blocks;
    return losses_of(test::train(ranks.mpi(), job, steps));
  };
  const auto even = losses({2, 2});
  EXPECT_EQ(losses({1, 3}), even);
  EXPECT_EQ(losses({3, 1}), even);
  EXPECT_EQ(losses(nullptr), even);
}

// Weight gradients of zero-bubble are those of 1f1b, summed in the same order.
TEST(Placement, ZeroBubbleHasTheBitsOf1f1b) {
  const auto expect_bits = [](const char* name, Layout layout) {
    const GoldenCase golden = read_golden(name);
    if (layout.ranks() != world_size() || !carries(golden, layout)) return;
    SCOPED_TRACE(name + (": " + layout.text()));
    const auto expected = train_unclipped(golden, layout);
    layout.schedule = "zero-bubble";
    expect_same_bits(train_unclipped(golden, layout), expected);
  };
  for (const char* name : {"qwen2-odd", "llama-frozen", "pythia"})
    expect_bits(name, {.pipeline = 2, .micro = 1});
  expect_bits("gpt2-tiny", {.pipeline = 2, .micro = 1, .recompute = 99});
  expect_bits("gpt2-tiny", {.pipeline = 2, .micro = 1, .type = "bf16"});
  expect_bits("gpt2-tiny", {.tensor = 2, .pipeline = 2, .micro = 1});
  expect_bits("gpt2-tiny", {.pipeline = 2, .data = 2, .micro = 1, .zero = 1});
  expect_bits("gpt2-tiny", {.pipeline = 4, .micro = 1});
}

// Two forwards first on the last stage, and backward passes as late as can be on the first.
TEST(Placement, AScheduleByHandChangesNoBit) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  Layout layout{.pipeline = 2, .micro = 1};
  if (layout.ranks() != world_size()) GTEST_SKIP() << "needs two stages";
  const auto expected = train_unclipped(golden, layout);
  const SharedDirectory directory;
  std::string order = "stage,operation,chunk,microbatch\n";
  const int microbatches = static_cast<int>(golden.global_batch);
  const auto add = [&](int stage, char operation, int microbatch) {
    order += fmt::format("{},{},0,{}\n", stage, operation, microbatch);
  };
  for (int m = 0; m < microbatches; ++m) add(0, 'F', m);
  for (int m = 0; m < microbatches; ++m) add(0, 'B', m);
  for (int m = 0; m < microbatches; ++m) {
    add(1, 'F', m);
    if (m > 0) add(1, 'B', m - 1);
  }
  add(1, 'B', microbatches - 1);
  const std::string file = directory.path("order.csv");
  if (world_rank() == 0) std::ofstream(file) << order;
  MPI_Barrier(MPI_COMM_WORLD);
  layout.schedule = "file:" + file;
  expect_same_bits(train_unclipped(golden, layout), expected);
}

// Each rank clips the elements it steps. The tolerance is that of the golden losses.
TEST(Placement, ElementsAreClippedAlikeOnEveryGrid) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const auto losses = [&](const Layout& layout, double most) {
    const SubCommunicator ranks(layout.ranks());
    auto job = golden_job(golden, layout);
    job["gradient_clipping"] = 0.0;
    job["gradient_clipping_value"] = most;
    return losses_of(test::train(ranks.mpi(), job, steps));
  };
  const auto one = losses({.micro = 2}, 1e-3);
  EXPECT_GT(std::abs(losses({.micro = 2}, 0.0).back() - one.back()), 1e-4) << "it clips";
  for (const Layout& layout : possible({{.tensor = 2, .micro = 2},
                                        {.pipeline = 2, .micro = 2},
                                        {.data = 2, .micro = 1, .zero = 3},
                                        {.tensor = 2, .data = 2, .micro = 1, .zero = 1}})) {
    SCOPED_TRACE(layout.text());
    const auto found = losses(layout, 1e-3);
    for (std::size_t s = 0; s < one.size(); ++s) EXPECT_NEAR(found[s], one[s], 2e-6 * one[s]);
  }
}

// oneDNN splits some sums over threads on some processors; otherwise no bit would change.
TEST(Placement, ThreadsChangeRoundingsAlone) {
  if (world_size() > 1) GTEST_SKIP() << "one rank's threads";
  const int before = omp_get_max_threads();
  for (const char* name : {"gpt2-tiny", "qwen2-odd"})
    for (const bool narrow : {false, true})
      for (const int layers : {0, 99}) {
        const GoldenCase golden = read_golden(name);
        SCOPED_TRACE(name);
        auto job = golden_job(golden, {.micro = 2, .recompute = layers});
        if (narrow) job["bf16"] = {{"enabled", true}};
        if (golden.name.starts_with("gpt2")) add_dropout(job);
        std::vector<std::vector<StepMetrics>> runs;
        for (const int threads : {1, 2, 3}) {
          omp_set_num_threads(threads);
          runs.push_back(test::train(MPI_COMM_WORLD, job, steps));
        }
        const double tolerance = narrow ? 1e-3 : 1e-6;
        for (std::size_t run : {1, 2})
          for (std::size_t s = 0; s < runs[0].size(); ++s) {
            EXPECT_NEAR(runs[run][s].loss, runs[0][s].loss, tolerance * runs[0][s].loss);
            EXPECT_NEAR(runs[run][s].grad_norm, runs[0][s].grad_norm,
                        10 * tolerance * runs[0][s].grad_norm);
          }
      }
  omp_set_num_threads(before);
}

TEST(Placement, RecomputeChangesNoBit) {
  for (const auto& [name, layers] :
       {std::pair{"gpt2-odd", 1}, {"qwen2-tiny", 99}, {"olmo2", 1}, {"gemma2", 99}, {"pythia", 99}})
    for (Layout layout :
         possible({{.micro = 2},
                   {.tensor = 2, .micro = 2},
                   {.pipeline = 2, .micro = 2},
                   {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 1},
                   {.data = 2, .micro = 2, .zero = 1},
                   {.tensor = 2, .pipeline = 2, .schedule = "gpipe", .micro = 2}})) {
      const GoldenCase golden = read_golden(name);
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(name + (": " + layout.text()));
      const auto kept = train(golden, layout);
      layout.keep_outputs = true;
      expect_same_bits(kept, train(golden, layout));
      layout.recompute = layers;
      expect_same_bits(kept, train(golden, layout));
      layout.granularity = "selective";
      expect_same_bits(kept, train(golden, layout));
    }
}

// Recomputation draws the same dropout masks and rounds to 16 bits alike.
TEST(Placement, RecomputeChangesNoBitWithDropoutInBfloat16) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  for (Layout layout : possible({{.micro = 2},
                                 {.tensor = 2, .micro = 2},
                                 {.tensor = 2, .micro = 2, .sequence_parallel = false},
                                 {.pipeline = 2, .micro = 2},
                                 {.data = 2, .micro = 2, .zero = 3},
                                 {.tensor = 2, .data = 2, .micro = 2},
                                 {.tensor = 2, .data = 2, .micro = 2, .zero = 3}})) {
    const auto run = [&] {
      const SubCommunicator ranks(layout.ranks());
      auto job = golden_job(golden, layout);
      job["bf16"] = {{"enabled", true}};
      add_dropout(job);
      return test::train(ranks.mpi(), job, steps);
    };
    SCOPED_TRACE(layout.text());
    const auto kept = run();
    layout.keep_outputs = true;
    expect_same_bits(kept, run());
    layout.keep_outputs = false;
    layout.recompute = 99;
    expect_same_bits(kept, run());
    layout.granularity = "selective";
    expect_same_bits(kept, run());
  }
}

TEST(Placement, PartitionedInputsChangeNoBit) {
  for (const char* name : {"gpt2-odd", "llama-tiny"})
    for (Layout layout : possible({{.tensor = 2, .micro = 3},
                                   {.tensor = 2, .micro = 1, .zero = 3},
                                   {.tensor = 2, .pipeline = 2, .micro = 1},
                                   {.tensor = 2, .pipeline = 2, .schedule = "gpipe", .micro = 1},
                                   {.tensor = 2, .data = 2, .micro = 1, .zero = 3},
                                   {.tensor = 4, .micro = 2}})) {
      const GoldenCase golden = read_golden(name);
      if (!carries(golden, layout)) continue;
      layout.sequence_parallel = false;
      SCOPED_TRACE(name + (": " + layout.text()));
      const auto whole = train(golden, layout);
      layout.recompute = 99;
      layout.partition = true;
      expect_same_bits(whole, train(golden, layout));
    }
}

TEST(Placement, SchedulesOfOneCutChangeNoBit) {
  for (const char* name : {"gpt2-tiny", "llama-tiny"})
    for (Layout layout : possible({{.pipeline = 2, .micro = 2},
                                   {.pipeline = 2, .data = 2, .micro = 1},
                                   {.pipeline = 4, .micro = 1}})) {
      const GoldenCase golden = read_golden(name);
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(name + (": " + layout.text()));
      const auto one_forward_one_backward = train(golden, layout);
      layout.schedule = "gpipe";
      expect_same_bits(one_forward_one_backward, train(golden, layout));
      layout.schedule = "interleaved";
      expect_same_bits(one_forward_one_backward, train(golden, layout));
    }
}

TEST(Placement, CutsAndSchedulesChangeNoBit) {
  const GoldenCase golden =
      read_golden("gpt2-odd");  // untied: a tied gradient is a sum over stages
  const auto whole = train_unclipped(golden, {.micro = 2});
  for (const Layout& layout :
       possible({{.schedule = "gpipe", .micro = 2},
                 {.schedule = "interleaved", .chunks = 3, .micro = 2},
                 {.pipeline = 2, .micro = 2},
                 {.pipeline = 2, .schedule = "gpipe", .chunks = 2, .micro = 2},
                 {.pipeline = 2, .schedule = "interleaved", .chunks = 3, .micro = 2},
                 {.pipeline = 4, .micro = 2}})) {
    SCOPED_TRACE(layout.text());
    const auto cut = train_unclipped(golden, layout);
    EXPECT_EQ(losses_of(whole), losses_of(cut));
    for (std::size_t i = 0; i < cut.size(); ++i)
      EXPECT_NEAR(cut[i].grad_norm, whole[i].grad_norm, 1e-12 * whole[i].grad_norm);
  }
}

// ZeRO-1 reduces gradients by a reduce-scatter instead of an all-reduce. With two ranks both add
// the same two numbers; with more, MPI uses another order.
TEST(Placement, ShardedOptimizerStateChangesNoBitOnTwoRanks) {
  for (const char* name : {"gpt2-tiny", "llama-tiny"})
    for (Layout layout :
         possible({{.data = 2, .micro = 2}, {.pipeline = 2, .data = 2, .micro = 2}})) {
      const GoldenCase golden = read_golden(name);
      SCOPED_TRACE(name + (": " + layout.text()));
      const auto replicated = train(golden, layout);
      layout.zero = 1;
      expect_same_bits(replicated, train(golden, layout));
    }
}

TEST(Placement, OrderOfTheAxesChangesNoBit) {
  if (world_size() != 4) GTEST_SKIP() << "needs 4 ranks";
  const GoldenCase golden = read_golden("llama-tiny");
  for (const Layout& layout : {Layout{.pipeline = 2, .data = 2, .micro = 2},
                               Layout{.tensor = 2, .pipeline = 2, .micro = 2}}) {
    SCOPED_TRACE(layout.text());
    auto job = golden_job(golden, layout);
    const auto usual = test::train(MPI_COMM_WORLD, job, steps);
    for (const char* order : {"tensor,pipeline,data", "pipeline,data,tensor"}) {
      job["parallel"]["order"] = order;
      const auto other = test::train(MPI_COMM_WORLD, job, steps);
      EXPECT_EQ(losses_of(usual), losses_of(other)) << order;
    }
  }
}

// Sums over ranks are made elsewhere: equal to rounding.
TEST(Placement, SequenceParallelismChangesRoundingOnly) {
  for (const char* name : {"gpt2-odd", "llama-tiny", "qwen2-odd"})
    for (Layout layout : possible({{.tensor = 2, .micro = 3}, {.tensor = 4, .micro = 4}})) {
      const GoldenCase golden = read_golden(name);
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(name + (": " + layout.text()));
      const auto split = train(golden, layout);
      layout.sequence_parallel = false;
      const auto whole = train(golden, layout);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_NEAR(split[i].loss, whole[i].loss, golden_loss_tolerance * whole[i].loss);
        EXPECT_NEAR(split[i].grad_norm, whole[i].grad_norm,
                    golden_norm_tolerance * whole[i].grad_norm);
      }
    }
}

}  // namespace
}  // namespace triax::test
