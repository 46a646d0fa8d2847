// SPDX-License-Identifier: Apache-2.0
// Memory plans. tests/parity/test_traffic_of_training.cpp checks that a run allocates exactly this.
#include "src/forecast/memory_plan.hpp"

#include <gtest/gtest.h>

#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t program = 1000;

MemoryPlan memory_with_program(const PlacedConfig& config) {
  return MemoryPlan(config, step_plans(config), program);
}

KindBytes first_rank(const Layout& layout) {
  return memory_with_program(golden_config(layout)).of(0).device;
}

TEST(KindBytes, TotalIsOverAllKinds) {
  KindBytes bytes;
  std::int64_t next = 1;
  for (const MemoryKind& kind : memory_kinds) bytes.*kind.bytes = std::exchange(next, 2 * next);
  EXPECT_EQ(bytes.total(), next - 1);
  EXPECT_EQ(sizeof(KindBytes), memory_kinds.size() * sizeof(std::int64_t));
}

TEST(MemoryPlan, ZeroCutsOneKindAfterAnother) {
  const Layout layout{.data = 2, .micro = 1};
  const auto with_zero = [&](int stage) {
    Layout cut = layout;
    cut.zero = stage;
    PlacedConfig config = golden_config(cut);
    config.zero.persistence_threshold = 0;
    return memory_with_program(config).of(0).device;
  };
  const KindBytes none = with_zero(0);
  EXPECT_EQ(none.gathered, 0);
  const auto halved = [](std::int64_t all, std::int64_t part) {
    return part >= all / 2 && part <= all / 2 + 4096;
  };
  EXPECT_TRUE(halved(none.optimizer, with_zero(1).optimizer));
  EXPECT_EQ(none.gradients, with_zero(1).gradients);
  EXPECT_TRUE(halved(none.gradients, with_zero(2).gradients));
  EXPECT_EQ(none.parameters, with_zero(2).parameters);
  EXPECT_TRUE(halved(none.parameters, with_zero(3).parameters));
  EXPECT_GT(with_zero(2).gathered, 0);
  EXPECT_GT(with_zero(3).gathered, with_zero(2).gathered);
  EXPECT_LT(with_zero(1).communication, none.communication);  // shards, not whole gradients
}

TEST(MemoryPlan, SlotsAreCommunication) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1});
  const std::int64_t by_mpi = memory_with_program(config).of(0).device.communication;
  config.place.ranks_sharing = {2, 1, 1};
  const std::int64_t shared = memory_with_program(config).of(0).device.communication;
  EXPECT_GE(shared, node::slot_bytes(2));
  EXPECT_LE(shared, node::slot_bytes(2) + by_mpi);
}

// The HDF5 library adds some MiB.
TEST(MemoryPlan, AFileTakesMoreThanTheBuffersItGoesThrough) {
  PlacedConfig config = golden_config({.micro = 1});
  ASSERT_FALSE(config.checkpoint.at_end || config.checkpoint.interval > 0);
  const std::int64_t without = memory_with_program(config).of(0).device.buffers;
  config.checkpoint.at_end = true;
  EXPECT_GT(memory_with_program(config).of(0).device.buffers, without + (1 << 20));
}

TEST(MemoryPlan, RecomputeAndSmallBatchesShrinkActivations) {
  const KindBytes all = first_rank({.micro = 2});
  EXPECT_LT(first_rank({.micro = 2, .recompute = 99}).activations, all.activations);
  EXPECT_LT(first_rank({.micro = 1}).activations, all.activations);
  EXPECT_EQ(all.communication, 0);
  EXPECT_GT(all.buffers, program);
}

// Two bytes per parameter, and a master copy of four.
TEST(MemoryPlan, SixteenBitsHaveAMasterCopy) {
  const KindBytes wide = first_rank({.micro = 2});
  const KindBytes narrow = first_rank({.micro = 2, .type = "bf16"});
  EXPECT_EQ(wide.master, 0);
  EXPECT_NEAR(narrow.parameters, wide.parameters / 2, 4096);
  EXPECT_NEAR(narrow.master, wide.parameters, 4096);
  EXPECT_EQ(narrow.optimizer, wide.optimizer);
  EXPECT_LT(narrow.activations, wide.activations);
}

TEST(MemoryPlan, WhatIsOffloadedIsElsewhere) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 3, .type = "bf16"});
  config.zero.persistence_threshold = 0;
  const RankMemory all = memory_with_program(config).of(0);
  EXPECT_EQ(all.host, KindBytes{});
  EXPECT_EQ(all.nvme, KindBytes{});

  config.zero.offload_optimizer.device = config.zero.offload_param.device = OffloadDevice::cpu;
  const RankMemory host = memory_with_program(config).of(0);
  EXPECT_EQ(host.resident(), all.resident());
  EXPECT_EQ(host.in_memory(), all.device);
  EXPECT_NEAR(host.host.optimizer, all.device.optimizer, 4096);
  EXPECT_NEAR(host.host.master, all.device.master, 4096);
  EXPECT_NEAR(host.host.parameters, all.device.parameters, 4096);
  EXPECT_EQ(host.nvme, KindBytes{});

  config.zero.offload_optimizer.device = config.zero.offload_param.device = OffloadDevice::nvme;
  config.zero.offload_param.max_in_cpu = 0;
  const RankMemory disk = memory_with_program(config).of(0);
  EXPECT_EQ(disk.host, KindBytes{});
  EXPECT_EQ(disk.device.optimizer + disk.device.master + disk.device.parameters, 0);
  EXPECT_GE(disk.nvme.optimizer, host.host.optimizer);
  EXPECT_GE(disk.nvme.master, host.host.master);
  EXPECT_GE(disk.nvme.parameters, host.host.parameters);
  EXPECT_GT(disk.device.buffers, all.device.buffers);
}

// Planning for GPUs needs no GPU.
TEST(MemoryPlan, OnGpusTheHostHasTheProgramAndWhatPassesThroughIt) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 1, .type = "bf16"});
  const RankMemory cpu = memory_with_program(config).of(0);
  config.place.space = MemorySpace::device;
  const RankMemory gpu = memory_with_program(config).of(0);
  for (const auto kind : {&KindBytes::parameters, &KindBytes::gradients, &KindBytes::master,
                          &KindBytes::optimizer, &KindBytes::activations}) {
    EXPECT_NEAR(gpu.device.*kind, cpu.device.*kind, 4096);  // rounded to whole pages on a GPU
    EXPECT_EQ(gpu.host.*kind, 0);
  }
  EXPECT_EQ(gpu.in_memory(), gpu.host);
  EXPECT_EQ(gpu.on_gpu(), gpu.device);
  EXPECT_EQ(cpu.on_gpu(), KindBytes{});
  EXPECT_GE(gpu.host.buffers, program);
  EXPECT_GT(gpu.host.communication, cpu.device.communication) << "messages pass through there too";

  config.place.staged_messages = false;
  EXPECT_EQ(memory_with_program(config).of(0).host.communication, 0);
  config.zero.offload_optimizer.device = OffloadDevice::cpu;
  const RankMemory offloaded = memory_with_program(config).of(0);
  EXPECT_EQ(offloaded.device.optimizer + offloaded.device.master, 0);
  EXPECT_NEAR(offloaded.host.optimizer, gpu.device.optimizer, 4096);
  EXPECT_NEAR(offloaded.host.master, gpu.device.master, 4096);
  EXPECT_GT(offloaded.host.buffers, gpu.host.buffers) << "pinned portions to step it";
  config.zero.offload_optimizer.ratio = 0.5;
  const RankMemory half = memory_with_program(config).of(0);
  EXPECT_GT(half.device.optimizer, 0);
  EXPECT_GT(half.host.optimizer, 0);
}

// NCCL passes no message through the host, between stages or within them.
TEST(MemoryPlan, OnGpusMessagesBetweenStagesAreNccls) {
  PlacedConfig config = golden_config({.pipeline = 2, .micro = 1});
  config.place.space = MemorySpace::device;
  EXPECT_GT(memory_with_program(config).of(0).host.communication, 0);
  EXPECT_EQ(memory_with_program(config).of(0).device.communication, 0);
  config.place.staged_messages = false;
  EXPECT_EQ(memory_with_program(config).of(0).host.communication, 0);
  EXPECT_EQ(memory_with_program(config).of(0).device.communication, nccl_bytes(config));
}

// Offloaded parameters of a run on a GPU, in host memory or on a disk, with buffers for a few
// layers on the GPU.
TEST(MemoryPlan, OnGpusOffloadedParametersAreOnTheHostOrItsDisk) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 3, .type = "bf16"});
  config.model.layers = 24;
  config.zero.persistence_threshold = 0;
  config.place.space = MemorySpace::device;
  const RankMemory gpu = memory_with_program(config).of(0);
  config.zero.offload_param.device = OffloadDevice::cpu;
  const RankMemory host = memory_with_program(config).of(0);
  EXPECT_EQ(host.device.parameters, 0);
  EXPECT_NEAR(host.host.parameters, gpu.device.parameters, 4096);
  EXPECT_GT(host.device.gathered, gpu.device.gathered);
  EXPECT_LT(host.device.total(), gpu.device.total());

  config.zero.offload_param.device = OffloadDevice::nvme;
  config.zero.offload_param.max_in_cpu = 0;
  const RankMemory disk = memory_with_program(config).of(0);
  EXPECT_EQ(disk.device, host.device);
  EXPECT_EQ(disk.host.parameters, 0);
  EXPECT_GE(disk.nvme.parameters, host.host.parameters);
  EXPECT_GT(disk.host.buffers, host.host.buffers) << "between disk and device";
  config.zero.offload_param.max_in_cpu = 1'000'000'000;
  EXPECT_EQ(memory_with_program(config).of(0).host.parameters, host.host.parameters);
}

// In a run on the CPU only the name of the memory changes. Four blocks keep their inputs for one
// micro-batch.
TEST(MemoryPlan, InputsOfRecomputedLayersAreOnTheHostWhereTheJobSaysSo) {
  PlacedConfig config = golden_config({.micro = 1, .recompute = 99});
  const RankMemory all = memory_with_program(config).of(0);
  EXPECT_EQ(all.host, KindBytes{});
  config.recompute.inputs_on_host = true;
  const RankMemory host = memory_with_program(config).of(0);
  EXPECT_EQ(host.in_memory(), all.device);
  const std::int64_t input = config.data.sequence_length * config.model.hidden * 4;
  EXPECT_EQ(host.host.activations, config.model.layers * input);
  config.recompute.what = Recompute::none;
  EXPECT_EQ(memory_with_program(config).of(0).host.activations, 0);
}

// The device holds only the inputs in transfer.
TEST(MemoryPlan, OnGpusInputsOfRecomputedLayersAreOnTheHost) {
  PlacedConfig config = golden_config({.micro = 1, .recompute = 99});
  config.place.space = MemorySpace::device;
  const RankMemory gpu = memory_with_program(config).of(0);
  EXPECT_EQ(gpu.host.activations, 0);
  config.recompute.inputs_on_host = true;
  const RankMemory host = memory_with_program(config).of(0);
  const std::int64_t input = config.data.sequence_length * config.model.hidden * 4;
  EXPECT_EQ(host.host.activations % input, 0);
  EXPECT_GT(host.host.activations, 0);
  EXPECT_LT(host.device.activations, gpu.device.activations);
}

TEST(MemoryPlan, RanksOfAStageAreAlikeWhereverTheyStand) {
  PlacedConfig config = golden_config({.tensor = 2, .pipeline = 2, .data = 2, .micro = 1});
  config.parallel.order = "pipeline,data,tensor";
  const MemoryPlan plan = memory_with_program(config);
  EXPECT_EQ(plan.stage_of(3), 0);
  EXPECT_EQ(plan.stage_of(4), 1);
  EXPECT_EQ(plan.of(0), plan.of(3));
  EXPECT_NE(plan.of(0), plan.of(4));
  const int fullest = plan.fullest();
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_LE(plan.of(rank).resident(), plan.of(fullest).resident());
}

TEST(MemoryPlan, KnowsTheNodeThatTakesTheMost) {
  const MemoryPlan plan =
      memory_with_program(golden_config({.pipeline = 2, .data = 2, .micro = 1}));
  const bool last = plan.of(3).resident() > plan.of(0).resident();
  EXPECT_EQ(plan.fullest_node(1), std::vector<int>{plan.fullest()});
  EXPECT_EQ(plan.fullest_node(4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(plan.fullest_node(99).size(), 4U);
  EXPECT_EQ(plan.fullest_node(3), last ? (std::vector<int>{0, 1, 2}) : (std::vector<int>{0, 1, 2}));
}

// Planning a large job on a small machine allocates little.
TEST(MemoryPlan, TakesNoMemoryOfTheJobs) {
  PlacedConfig config = golden_config({.tensor = 2, .pipeline = 2, .micro = 1});
  config.model.hidden = 16384;
  config.model.intermediate = 65536;
  config.model.heads = config.model.kv_heads = 128;
  config.model.head_size = 128;
  config.model.layers = 96;
  config.parallel.data = 2500;
  const MemoryPlan plan = memory_with_program(config);
  EXPECT_GT(plan.of(9999).device.optimizer, std::int64_t{500} << 30);
}

}  // namespace
}  // namespace triax::test
