// SPDX-License-Identifier: Apache-2.0
// fp16: steps whose gradients overflow change only the loss scale, on all ranks.
#include <cmath>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Layout fp16_layout() {
  if (world_size() == 4) return {.pipeline = 2, .data = 2, .micro = 2, .zero = 3, .type = "fp16"};
  if (world_size() == 2) return {.data = 2, .micro = 2, .zero = 2, .type = "fp16"};
  return {.micro = 2, .type = "fp16"};
}

// A job whose steps all see the same samples: only schedule and bias correction depend on the step
// number.
nlohmann::json overflowing_job(const TempDirectory& directory) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  auto job = golden_job(golden, fp16_layout());
  std::string text;
  for (int i = 0; std::ssize(text) <= golden.global_batch * golden.sequence_length; ++i)
    text += std::to_string(i * i) + " ";
  text.resize(static_cast<std::size_t>(golden.global_batch * golden.sequence_length + 1));
  job["data"]["train"] = {directory.file("text.txt", text)};
  job["fp16"] = {{"enabled", true}, {"initial_scale_power", 40}, {"hysteresis", 1}};
  job["run"]["steps"] = 60;  // enough that some are not skipped
  return job;
}

// A run with accessible state.
struct OpenRun {
  LoadedJob job;
  ProcessGrid grid;
  Trainer trainer;
  explicit OpenRun(const nlohmann::json& json)
      : job(load(json, world_size())),
        grid(make_grid(MPI_COMM_WORLD, job.config)),
        trainer(job, grid) {}
  GlobalValues values(const ValuesOfBlock& values_of) {
    return collect(grid, job.config.model, trainer.store(), values_of);
  }
};

// Whether all ranks have the same value.
bool alike(double value) {
  std::array<double, 2> ends = {value, -value};
  MPI_Allreduce(MPI_IN_PLACE, ends.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return ends[0] == -ends[1];
}

TEST(Overflow, SkipsStepsAndHalvesTheScaleUntilItFits) {
  const TempDirectory directory;
  OpenRun run(overflowing_job(directory));
  const auto weights = run.values(weights_of(run.trainer.store()));
  double scale = std::ldexp(1.0, 40);
  std::int64_t skipped = 0;
  StepMetrics metrics = run.trainer.train_step(0);
  for (; metrics.skipped && skipped < 40; metrics = run.trainer.train_step(skipped)) {
    EXPECT_TRUE(alike(metrics.skipped));
    EXPECT_EQ(metrics.loss_scale, scale);
    EXPECT_FALSE(std::isfinite(metrics.grad_norm));
    EXPECT_TRUE(std::isfinite(metrics.loss));
    scale /= 2;
    ++skipped;
    if (skipped > 2) continue;
    EXPECT_EQ(run.values(weights_of(run.trainer.store())), weights);
    const GlobalValues none = zeros(run.job.config.model);
    EXPECT_EQ(run.values(first_moments_of(run.trainer.optimizer())), none);
    EXPECT_EQ(run.values(second_moments_of(run.trainer.optimizer())), none);
  }
  EXPECT_GT(skipped, 5);
  EXPECT_LT(skipped, 40);
  EXPECT_FALSE(metrics.skipped);
  EXPECT_TRUE(alike(metrics.skipped));
  EXPECT_EQ(metrics.loss_scale, scale);
  EXPECT_TRUE(std::isfinite(metrics.grad_norm));
  EXPECT_NE(run.values(weights_of(run.trainer.store())), weights);
}

// A run that skipped steps equals one that began at the scale that fits, in weights, moments,
// learning rate and bias correction.
TEST(Overflow, SkippedStepsCountForNothing) {
  const TempDirectory directory;
  auto job = overflowing_job(directory);
  std::vector<StepMetrics> late;
  int skipped = 0;
  {
    OpenRun run(job);
    for (std::int64_t step = 0; late.size() < 4 && step < 45; ++step) {
      late.push_back(run.trainer.train_step(step));
      if (!late.back().skipped) continue;
      late.pop_back();
      ++skipped;
    }
  }
  job["fp16"]["initial_scale_power"] = 40 - skipped;
  const std::vector<StepMetrics> at_once = train(MPI_COMM_WORLD, job, 4);
  EXPECT_EQ(losses_of(late), losses_of(at_once));
  EXPECT_EQ(norms_of(late), norms_of(at_once));
  ASSERT_EQ(late.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(late[i].lr, at_once[i].lr);
    EXPECT_EQ(late[i].loss_scale, at_once[i].loss_scale);
  }
}

TEST(Overflow, AtTheLeastScaleTheRunEndsAndSaysWhatToDo) {
  const TempDirectory directory;
  auto job = overflowing_job(directory);
  job["fp16"]["min_loss_scale"] = std::ldexp(1.0, 38);
  EXPECT_THAT(error_of([&] { train(MPI_COMM_WORLD, job, 10); }),
              AllOf(HasSubstr("overflow"), HasSubstr("fp16.min_loss_scale")));
}

// The steps before the overflow are saved, with the loss scale from before it.
TEST(Overflow, AtTheLeastScaleTheStepsBeforeAreSaved) {
  const TempDirectory text;
  const SharedDirectory directory;
  auto job = overflowing_job(text);
  job["fp16"] = {{"enabled", true},
                 {"initial_scale_power", 10},
                 {"hysteresis", 1},
                 {"loss_scale_window", 1},
                 {"min_loss_scale", std::ldexp(1.0, 40)}};
  job["run"] = {{"directory", directory.path()}, {"steps", 60}, {"progress", "none"}};
  job["checkpoint"] = {{"resume", "never"}, {"interval", 1000}};
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), HasSubstr("minimum loss scale"));
  const auto lines = metrics_of(directory.path());
  ASSERT_GT(lines.size(), 3U);
  const auto saved = list_checkpoints(directory.path("checkpoints"));
  ASSERT_EQ(saved.size(), 1U);
  const CheckpointReader reader(saved.front());
  EXPECT_EQ(reader.header().step + 1, std::ssize(lines)) << "and one of the step that ended it";
  EXPECT_EQ(lines.back()["skipped"], true);
  EXPECT_EQ(nlohmann::json::parse(reader.header().loss_scale)["skipped"], 0);
}

// Weights that the previous step broke are not saved.
TEST(Overflow, AtTheLeastScaleBrokenWeightsAreNotSaved) {
  const TempDirectory text;
  const SharedDirectory directory;
  auto job = overflowing_job(text);
  job["fp16"] = {{"enabled", true},
                 {"initial_scale_power", 10},
                 {"hysteresis", 1},
                 {"min_loss_scale", std::ldexp(1.0, 40)}};
  job["optimizer"]["params"]["lr"] = 1e30;  // the first update leaves no finite weight
  job["run"] = {{"directory", directory.path()}, {"steps", 60}, {"progress", "none"}};
  job["checkpoint"] = {{"resume", "never"}, {"interval", 1000}};
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), HasSubstr("minimum loss scale"));
  EXPECT_GE(metrics_of(directory.path()).size(), 1U);
  EXPECT_EQ(list_checkpoints(directory.path("checkpoints")).size(), 0U);
}

// Hysteresis permits one overflow, then the scale falls; a window of four steps doubles it. The
// checkpoint lies in the middle of both counts.
TEST(Overflow, AResumedRunGoesOnAtItsScaleBitForBit) {
  const TempDirectory text;
  const SharedDirectory directory;
  auto job = overflowing_job(text);
  job["fp16"] = {
      {"enabled", true}, {"initial_scale_power", 24}, {"hysteresis", 2}, {"loss_scale_window", 4}};
  job["run"] = {{"directory", directory.path("straight")}, {"steps", 18}, {"progress", "none"}};
  job["checkpoint"] = {{"resume", "never"}, {"interval", 9}, {"at_end", false}};
  train_to_the_end(job);
  job["run"]["directory"] = directory.path("resumed");
  job["checkpoint"]["resume"] = directory.path("straight/checkpoints/step-000009.h5");
  train_to_the_end(job);
  const auto straight = metrics_of(directory.path("straight"));
  const auto resumed = metrics_of(directory.path("resumed"));
  ASSERT_EQ(straight.size(), 18U);
  ASSERT_EQ(resumed.size(), 9U);
  int skipped_before = 0, skipped_after = 0;
  for (std::size_t i = 0; i < 18; ++i)
    (i < 9 ? skipped_before : skipped_after) += straight[i]["skipped"] ? 1 : 0;
  EXPECT_GT(skipped_before, 0);
  EXPECT_GT(skipped_after, 0);
  for (std::size_t i = 0; i < 9; ++i)
    for (const char* key : {"step", "loss", "grad_norm", "lr", "loss_scale", "skipped"})
      EXPECT_EQ(resumed[i][key], straight[i + 9][key]) << key << " of step " << i + 9;
  for (const auto& line : straight)  // no infinity in JSON
    EXPECT_EQ(line["grad_norm"].is_null(), line["skipped"]) << line;
}

TEST(Overflow, WithoutFp16TheLinesDoNotSpeakOfIt) {
  EXPECT_FALSE(
      train(MPI_COMM_SELF, golden_job(read_golden("gpt2-deep"), {.micro = 4, .type = "bf16"}), 1)
          .front()
          .loss_scale.has_value());
}

}  // namespace
}  // namespace triax::test
