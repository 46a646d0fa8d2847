// SPDX-License-Identifier: Apache-2.0
// Training on a device: loss curves of PyTorch as on the host, and files that the host reads. Runs
// on the emulated device everywhere (a program of its own), and on GPUs if there are any.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/inference/generate.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/data/preference_job.hpp"
#include "tests/parity/device_jobs.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = 2;

std::vector<Layout> layouts() {
  if (world_size() == 1)
    return {{.micro = 2}, {.micro = 4, .recompute = 2}, {.micro = 4, .keep_outputs = true}};
  if (world_size() == 2)
    return {
        {.tensor = 2, .micro = 4},
        {.tensor = 2, .micro = 4, .keep_outputs = true},
        {.tensor = 2, .micro = 4, .sequence_parallel = false, .recompute = 9, .partition = true},
        {.pipeline = 2, .micro = 2},
        {.data = 2, .micro = 4},
        {.data = 2, .micro = 2, .zero = 1},
        {.data = 2, .micro = 2, .zero = 2},
        {.data = 2, .micro = 2, .zero = 3, .recompute = 1}};
  return {{.tensor = 2, .pipeline = 2, .micro = 4},
          {.tensor = 2, .data = 2, .micro = 2, .zero = 3, .persistence = 1000},
          {.pipeline = 2, .data = 2, .schedule = "interleaved", .chunks = 2, .micro = 2, .zero = 2},
          {.data = 4, .micro = 2, .zero = 1}};
}

class OnDevice : public DeviceTest {
 protected:
  // Trains the first steps on every layout of these ranks that the case allows.
  static void expect_golden_on_device(const char* name) {
    const GoldenCase golden = read_golden(name);
    int runs = 0;
    for (const Layout& layout : layouts()) {
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(layout.text());
      expect_golden(golden, train(MPI_COMM_WORLD, on_device(golden_job(golden, layout)), steps));
      ++runs;
    }
    EXPECT_GT(runs, 0);
  }
};

TEST_F(OnDevice, Gpt2HasTheLossesOfPytorchOnEveryLayout) {
  expect_golden_on_device("gpt2-tiny");
}

TEST_F(OnDevice, LlamaHasTheLossesOfPytorchOnEveryLayout) {
  expect_golden_on_device("llama-tiny");
}

TEST_F(OnDevice, FrozenTensorsHaveTheLossesOfPytorchOnEveryLayout) {
  for (const char* name : {"gpt2-frozen", "pythia-frozen", "qwen3-frozen"})
    expect_golden_on_device(name);
}

TEST_F(OnDevice, MaskedDocumentsHaveTheLossesOfPytorch) {
  for (const char* name : {"gpt2-documents", "llama-documents"}) {
    const GoldenCase golden = read_golden(name);
    expect_golden(golden,
                  train(MPI_COMM_WORLD, on_device(golden_job(golden, mixed_layout())), steps));
  }
}

TEST_F(OnDevice, PreferencesHaveTheLossesOfTrl) {
  Layout layout = mixed_layout();
  layout.micro = preference_pairs / (2 * layout.data);
  for (const char* name : {"dpo", "orpo", "dpo-lora"}) {
    SCOPED_TRACE(name);
    const SharedDirectory directory;
    const auto expected = preference_curve(name).at("steps");
    const auto found =
        train(MPI_COMM_WORLD, on_device(preference_job(name, layout, directory.path("run"))),
              preference_steps);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double loss = expected[i].at("loss"), norm = expected[i].at("grad_norm");
      EXPECT_NEAR(found[i].loss, loss, golden_loss_tolerance * loss) << i;
      EXPECT_NEAR(found[i].grad_norm, norm, golden_norm_tolerance * norm) << i;
      ASSERT_TRUE(found[i].pairs);
      EXPECT_NEAR(found[i].pairs->chosen_reward,
                  expected[i].at("rewards").at("chosen").get<double>(), 2e-5);
    }
  }
}

// Shards within pairs of ranks, summed across the pairs.
TEST_F(OnDevice, HybridShardingHasTheLossesOfPytorch) {
  if (world_size() != 4) return;
  const GoldenCase golden = read_golden("gpt2-tiny");
  for (const int stage : {1, 3}) {
    auto job = on_device(golden_job(golden, {.data = 4, .micro = 2, .zero = stage}));
    job["zero_optimization"]["mics_shard_size"] = 2;
    expect_golden(golden, train(MPI_COMM_WORLD, job, steps));
  }
}

// 16-bit numbers are rounded as on the host, up to the order of the float32 sums before each
// rounding.
TEST_F(OnDevice, SixteenBitsAreThoseOfTheHost) {
  Layout layout = mixed_layout();
  layout.type = "bf16";
  const auto job = golden_job(read_golden("gpt2-tiny"), layout);
  const auto there = train(MPI_COMM_WORLD, on_device(job), steps);
  const auto here = train(MPI_COMM_WORLD, on_host(job), steps);
  for (std::size_t s = 0; s < here.size(); ++s) {
    EXPECT_NEAR(there[s].loss, here[s].loss, 1e-3 * here[s].loss);
    EXPECT_NEAR(there[s].grad_norm, here[s].grad_norm, 1e-2 * here[s].grad_norm);
  }
}

// fp8 products run on codes if sizes are multiples of 16 and the BLAS has an algorithm, else on the
// rounded values. A 16-bit number that is rounded the other way may get the neighbouring code, an
// eighth away: after the first update, fp8 changes the norm by up to 3%, as it does relative to
// bf16.
TEST_F(OnDevice, EightBitsAreThoseOfTheHost) {
  Layout layout = mixed_layout();
  layout.type = "fp8";
  for (const char* name : {"gpt2-tiny", "llama-tiny"}) {
    const auto job = golden_job(read_golden(name), layout);
    const auto there = train(MPI_COMM_WORLD, on_device(job), steps);
    const auto here = train(MPI_COMM_WORLD, on_host(job), steps);
    for (std::size_t s = 0; s < here.size(); ++s) {
      EXPECT_NEAR(there[s].loss, here[s].loss, 2e-3 * here[s].loss);
      EXPECT_NEAR(there[s].grad_norm, here[s].grad_norm, 3e-2 * here[s].grad_norm);
    }
  }
}

TEST_F(OnDevice, DropoutHasTheMasksOfTheHost) {
  auto job = golden_job(read_golden("gpt2-tiny"), mixed_layout());
  add_dropout(job);
  const auto there = train(MPI_COMM_WORLD, on_device(job), steps);
  const auto here = train(MPI_COMM_WORLD, on_host(job), steps);
  for (std::size_t s = 0; s < here.size(); ++s)
    EXPECT_NEAR(there[s].loss, here[s].loss, 1e-5 * here[s].loss);
}

// Stochastic rounding uses the same random words wherever the state is updated.
TEST_F(OnDevice, StochasticRoundingIsThatOfTheHost) {
  Layout layout = mixed_layout();
  layout.type = "bf16";
  auto job = golden_job(read_golden("gpt2-tiny"), layout);
  job["optimizer"]["params"]["stochastic_rounding"] = true;
  const auto here = train(MPI_COMM_WORLD, on_host(job), steps);
  for (const bool offload : {false, true}) {
    if (offload) job["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
    const auto there = train(MPI_COMM_WORLD, on_device(job), steps);
    for (std::size_t s = 0; s < here.size(); ++s)
      EXPECT_NEAR(there[s].loss, here[s].loss, 1e-3 * here[s].loss);
  }
}

// State on the host (all or half of it) or on a disk is updated on the host (ZeRO-Offload).
TEST_F(OnDevice, OffloadedStateIsSteppedOnTheHost) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  auto job = on_device(golden_job(golden, mixed_layout()));
  for (const double ratio : {1.0, 0.5}) {
    SCOPED_TRACE(ratio);
    job["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}, {"ratio", ratio}};
    expect_golden(golden, train(MPI_COMM_WORLD, job, steps));
  }
  offload_optimizer(job, directory.path());
  expect_golden(golden, train(MPI_COMM_WORLD, job, steps));
}

TEST_F(OnDevice, OffloadedMasterWeightsAreSteppedOnTheHost) {
  Layout layout = mixed_layout();
  layout.type = "bf16";
  auto job = on_device(golden_job(read_golden("gpt2-tiny"), layout));
  const auto there = train(MPI_COMM_WORLD, job, steps);
  job["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
  const auto here = train(MPI_COMM_WORLD, job, steps);
  for (std::size_t s = 0; s < here.size(); ++s)
    EXPECT_NEAR(there[s].loss, here[s].loss, 1e-4 * here[s].loss);
}

// Checkpoints are the same files: a run may continue without a GPU, and go back.
TEST_F(OnDevice, CheckpointsGoOnOnTheHostAndBack) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  auto job = golden_job(golden, mixed_layout());
  job["run"]["directory"] = directory.path("run");
  job["checkpoint"] = {{"resume", "auto"}, {"async", true}, {"interval", 1}, {"keep", 0}};
  for (const int end : {1, 2, 3}) {
    job["run"]["steps"] = end;
    train_to_the_end(end % 2 == 1 ? on_device(job) : on_host(job));
  }
  if (world_rank() != 0) return;
  const auto lines = metrics_of(directory.path("run"));
  ASSERT_EQ(lines.size(), 3U);
  for (std::size_t s = 0; s < lines.size(); ++s)
    EXPECT_NEAR(lines[s]["loss"], golden.expected[s].loss,
                golden_loss_tolerance * golden.expected[s].loss);
}

TEST_F(OnDevice, GeneratesWhatTheHostDoes) {
  const SharedDirectory directory;
  auto job = golden_job(read_golden("gpt2-tiny"), mixed_layout());
  job["run"]["directory"] = directory.path();
  job["run"]["steps"] = 1;
  job["checkpoint"]["at_end"] = true;
  train_to_the_end(on_device(job));
  const CheckpointReader reader(directory.path("checkpoints/step-000001.h5"));
  Generator there(reader, 16, MemorySpace::device), here(reader, 16, MemorySpace::host);
  const auto expect_near = [](const std::vector<float>& found, const std::vector<float>& expected) {
    for (std::size_t v = 0; v < expected.size(); ++v) ASSERT_NEAR(found[v], expected[v], 1e-5) << v;
  };
  expect_near(there.logits({1, 2, 3}), here.logits({1, 2, 3}));
  for (const std::int32_t token : {4, 5})
    expect_near(there.logits_after(token), here.logits_after(token));
}

// A step that is not finite changes nothing, is reported, and ends the run, which leaves no file of
// weights that its first step ruined.
TEST_F(OnDevice, StepsThatAreNotFiniteAreFound) {
  const SharedDirectory directory;
  auto job = on_device(golden_job(read_golden("gpt2-tiny"), mixed_layout()));
  job.erase("scheduler");
  job["optimizer"]["params"]["lr"] = 1e20;
  job["run"]["directory"] = directory.path();
  job["run"]["max_bad_steps"] = 0;
  job["checkpoint"] = {{"interval", 2}};
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), testing::HasSubstr("step 2 had a loss"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(find_checkpoints(directory.path("checkpoints")), testing::IsEmpty());
}

// Overflows find the float16 loss scale as on the host.
TEST_F(OnDevice, TheLossScaleIsFoundAsOnTheHost) {
  Layout layout = mixed_layout();
  layout.type = "fp16";
  auto job = golden_job(read_golden("gpt2-tiny"), layout);
  job["fp16"]["initial_scale_power"] = 22;
  job["fp16"]["hysteresis"] = 1;
  const auto there = train(MPI_COMM_WORLD, on_device(job), 3);
  const auto here = train(MPI_COMM_WORLD, on_host(job), 3);
  for (std::size_t s = 0; s < here.size(); ++s) {
    EXPECT_EQ(there[s].skipped, here[s].skipped) << s;
    EXPECT_EQ(there[s].loss_scale, here[s].loss_scale) << s;
  }
  EXPECT_TRUE(here[0].skipped);
}

// run() finishes a step while the next one runs, train_step() at once: both give the same lines.
// After a float16 overflow, the following step is repeated.
TEST_F(OnDevice, NumbersThatAreReadLateAreThoseReadAtOnce) {
  constexpr int several = 3;
  for (const char* type : {"f32", "fp16"}) {
    SCOPED_TRACE(type);
    const SharedDirectory directory;
    Layout layout = mixed_layout();
    layout.type = type;
    auto job = on_device(golden_job(read_golden("gpt2-tiny"), layout));
    job["run"]["directory"] = directory.path();
    job["run"]["steps"] = several;
    if (layout.type == "fp16") {
      job["fp16"]["initial_scale_power"] = 20;
      job["fp16"]["hysteresis"] = 1;
    }
    const auto at_once = train(MPI_COMM_WORLD, job, several);
    train_to_the_end(job);
    if (layout.type == "fp16") {
      EXPECT_TRUE(at_once[0].skipped);
      EXPECT_FALSE(at_once[several - 1].skipped);
    }
    if (world_rank() != 0) continue;
    const auto lines = metrics_of(directory.path());
    ASSERT_EQ(lines.size(), at_once.size());
    for (std::size_t s = 0; s < lines.size(); ++s) {
      EXPECT_EQ(lines[s]["step"], s);
      EXPECT_EQ(lines[s]["loss"], at_once[s].loss);
      EXPECT_EQ(lines[s]["lr"], at_once[s].lr);
      EXPECT_EQ(lines[s].value("skipped", false), at_once[s].skipped);
      EXPECT_EQ(lines[s]["bytes_sent"]["data"], at_once[s].bytes_sent_data);
      if (!at_once[s].skipped) {
        EXPECT_EQ(lines[s]["grad_norm"], at_once[s].grad_norm);
      }
      if (at_once[s].loss_scale) {
        EXPECT_EQ(lines[s]["loss_scale"], *at_once[s].loss_scale);
      }
    }
  }
}

TEST_F(OnDevice, EvaluatesWhatTheHostDoes) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  auto job = golden_job(golden, mixed_layout());
  job["data"]["valid"] = {golden.directory + "/tokens.bin"};
  job["run"]["steps"] = 1;
  job["run"]["eval_interval"] = 1;
  job["run"]["eval_steps"] = 1;
  std::vector<double> losses;
  for (const bool device : {false, true}) {
    job["run"]["directory"] = directory.path(device ? "device" : "host");
    train_to_the_end(device ? on_device(job) : on_host(job));
    if (world_rank() == 0)
      for (const auto& line : metrics_of(job["run"]["directory"]))
        if (line.contains("valid_loss")) losses.push_back(line["valid_loss"]);
  }
  if (world_rank() != 0) return;
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_NEAR(losses[1], losses[0], 2e-6 * losses[0]);
}

}  // namespace
}  // namespace triax::test
