// SPDX-License-Identifier: Apache-2.0
// Memory of a device run equals its plan. Runs on the emulated device everywhere, and on GPUs if
// there are any.
#include <gtest/gtest.h>

#include "src/forecast/memory_check.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/device_offload_jobs.hpp"

namespace triax::test {
namespace {

class DeviceMemory : public DeviceTest {};

// Refused by the table of planned memory, with each of its kinds, before anything is allocated.
TEST_F(DeviceMemory, AJobThatDoesNotFitIsRefusedBeforeItTakesMemory) {
  auto text = on_device(golden_job(read_golden("gpt2-tiny"), mixed_layout()));
  text["model"].erase("config");
  text["model"] = {{"architecture", "gpt2"}, {"n_layer", 96},       {"n_head", 96},
                   {"n_embd", 12288},        {"n_positions", 2048}, {"vocab_size", 256}};
  const LoadedJob job = load(text, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  const JobPlan plan = plan_job(on_grid(job.config, grid));
  const std::int64_t free = device_facts().free_bytes;
  const MemoryLimit limit = gpu_limit(grid.space());
  EXPECT_THAT(error_of([&] { check_fits(plan.config, plan.memory, {world_rank()}, limit); }),
              testing::AllOf(testing::HasSubstr("does not fit the free memory of its GPU"),
                             testing::HasSubstr("parameters"), testing::HasSubstr("gradients"),
                             testing::HasSubstr("optimizer"), testing::HasSubstr("activations"),
                             testing::HasSubstr("buffers")));
  EXPECT_EQ(device_facts().free_bytes, free);
}

// Sets up the job and compares its memory with the plan.
void expect_as_planned(const nlohmann::json& text) {
  const LoadedJob job = load(text, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  const JobPlan plan = plan_job(on_grid(job.config, grid));
  const RankMemory& planned = plan.memory.of(world_rank());
  KindBytes cut = planned.device;
  EXPECT_EQ(cut.communication, grid.stages_messages() ? 0 : nccl_bytes(plan.config));
  cut.communication = 0;
  cut.buffers -= cuda_reserve;
  const std::int64_t before = device_facts().free_bytes;
  Trainer trainer(job, grid);
  const std::int64_t taken = before - device_facts().free_bytes;
  constexpr std::int64_t page = 4096;  // of the emulated device
  const bool emulated = device_facts().name == "emulated device";
  if (emulated) {
    EXPECT_GE(taken, cut.total());
    EXPECT_LT(taken, cut.total() + page) << "one piece, of what is listed";
  }
  trainer.train_step(0);
  const std::int64_t free = device_facts().free_bytes;
  if (emulated) {
    EXPECT_EQ(before - free, taken) << "the first step allocates on the device";
  }
  trainer.train_step(1);
  if (grid.ranks_of_device().size() == 1) {  // no other rank's memory is counted
    EXPECT_EQ(device_facts().free_bytes, free) << "a step allocates on the device";
  }
  const Allocations held = trainer.allocations();
  EXPECT_EQ(on_gpu_by_kind(held), cut);
  KindBytes host = by_kind(held, plan.program), listed = planned.host;
  host -= on_gpu_by_kind(held);
  listed.communication = 0;
  EXPECT_EQ(host, listed);
  EXPECT_EQ(grid.staging_bytes() > 0, world_size() > 1 && grid.stages_messages());
  EXPECT_LE(grid.staging_bytes(), planned.host.communication);
}

TEST_F(DeviceMemory, AllocatesWhatThePlanSays) {
  const SharedDirectory directory;
  Layout layout = world_size() == 1   ? Layout{.micro = 4}
                  : world_size() == 2 ? Layout{.data = 2, .micro = 4, .zero = 1}
                                      : Layout{.tensor = 2, .data = 2, .micro = 4, .zero = 1};
  layout.type = "fp8";  // with copies of matrices
  auto job = on_device(golden_job(read_golden("llama-tiny"), layout));
  expect_as_planned(job);
  job["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
  expect_as_planned(job);
  if (world_size() == 1) return;
  layout = {
      .pipeline = 2, .data = world_size() / 2, .schedule = "interleaved", .chunks = 2, .micro = 1};
  expect_as_planned(on_device(golden_job(read_golden("llama-tiny"), layout)));
}

TEST_F(DeviceMemory, OfParametersAllocatesWhatThePlanSays) {
  const SharedDirectory directory;
  for (const Place& state : {state_places[0], state_places[2]})
    for (const Place& place : {parameter_places[0], parameter_places[1], parameter_places[5]}) {
      SCOPED_TRACE(fmt::format("state: {}, parameters: {}", state.name, place.name));
      Layout layout = cut_layout();
      layout.type = "bf16";
      auto job = job_of(layout);
      state.set(job["zero_optimization"], directory.path());
      place.set(job["zero_optimization"], directory.path());
      expect_as_planned(job);
    }
}

TEST_F(DeviceMemory, OfInputsAllocatesWhatThePlanSays) {
  for (const Layout& layout : recomputing_layouts()) {
    SCOPED_TRACE(layout.text());
    auto job = recomputing_job(layout);
    const LoadedJob without = load(job, world_size());
    job["activation_checkpointing"]["cpu_checkpointing"] = true;
    expect_as_planned(job);
    const LoadedJob with = load(job, world_size());
    const RankMemory here = plan_job(on_nodes(without.config, 0)).memory.of(world_rank());
    const RankMemory there = plan_job(on_nodes(with.config, 0)).memory.of(world_rank());
    EXPECT_LT(there.device.activations, here.device.activations);
    EXPECT_GT(there.host.activations, 0);
  }
}

}  // namespace
}  // namespace triax::test
