// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/dry_run.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

JobPlan plan_of(const Layout& layout) {
  return plan_job(golden_config(layout));
}

TEST(DryRunJson, HasEveryRankKindAndAxis) {
  const JobPlan plan = plan_of({.tensor = 2, .pipeline = 2, .data = 2, .micro = 1, .zero = 1});
  const auto json = nlohmann::json::parse(plan_json(plan));
  ASSERT_EQ(json["ranks"].size(), 8U);
  for (int rank = 0; rank < 8; ++rank) {
    const auto& entry = json["ranks"][static_cast<std::size_t>(rank)];
    EXPECT_EQ(entry["rank"], rank);
    for (const char* place : {"device", "host", "nvme"}) {
      EXPECT_EQ(entry[place].size(), memory_kinds.size());
      for (const char* kind : {"parameters", "gradients", "master", "optimizer", "gathered",
                               "activations", "buffers", "communication"})
        EXPECT_TRUE(entry[place][kind].is_number_integer()) << kind;
    }
    EXPECT_EQ(entry["device"]["optimizer"], plan.memory.of(rank).device.optimizer);
    EXPECT_EQ(entry["nvme"]["optimizer"], 0);
  }
  for (const Axis axis : all_axes) {
    const auto& sent = json["messages"][std::string(name_of(axis))];
    EXPECT_EQ(sent["count"], plan.messages.along(axis).total().messages);
    EXPECT_EQ(sent["bytes"], plan.messages.along(axis).total().bytes);
    std::uint64_t bytes = 0;
    for (const auto& kind : sent["kinds"]) bytes += kind["bytes"].get<std::uint64_t>();
    EXPECT_EQ(sent["bytes"], bytes);
  }
}

TEST(DryRunTable, HasALineForEachKindOfRank) {
  const std::string table = dry_run_table(plan_of({.pipeline = 2, .data = 4, .micro = 1}), {1e12});
  EXPECT_THAT(table,
              AllOf(HasSubstr("stage 0: ranks 0, 2, 4, 6, device"),
                    HasSubstr("stage 1: ranks 1, 3, 5, 7, device"), HasSubstr("communication"),
                    HasSubstr("this machine's memory has 953674.3 MiB"), HasSubstr("pipeline: "),
                    Not(HasSubstr("nvme"))));
}

TEST(DryRunTable, OneRankSendsNothing) {
  EXPECT_THAT(dry_run_table(plan_of({.micro = 1}), {1e12}),
              AllOf(HasSubstr("stage 0: rank 0, device"), HasSubstr("no messages")));
}

// Planning for a GPU needs none; the notes state what is assumed.
TEST(GpuNotes, SayWhatIsAssumed) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1});
  EXPECT_TRUE(gpu_notes(config, false).empty());
  config.place.space = MemorySpace::device;
  config.place.staged_messages = false;
  EXPECT_THAT(
      gpu_notes(config, false),
      testing::ElementsAre(AllOf(HasSubstr("this machine has none"), HasSubstr("by NCCL")),
                           AllOf(HasSubstr("512 MiB of each rank's GPU memory (in buffers)"),
                                 HasSubstr("512 MiB (communication)"), HasSubstr("in 2 groups"),
                                 HasSubstr("not measured"))));
  const MemoryPlan memory(config, step_plans(config), 0);
  EXPECT_EQ(memory.of(0).device.communication, 2 * nccl_reserve);
  EXPECT_GT(memory.of(0).device.buffers, cuda_reserve);
  config.place.staged_messages = true;
  EXPECT_THAT(gpu_notes(config, true),
              testing::ElementsAre(AllOf(HasSubstr("512 MiB"), Not(HasSubstr("NCCL")))));
  EXPECT_EQ(MemoryPlan(config, step_plans(config), 0).of(0).device.communication, 0);
}

// NVLS needs buffers on each GPU if more than two GPUs of a node sum.
TEST(NcclBytes, AreMoreOnANodeWithManyGpus) {
  PlacedConfig config = golden_config({.data = 8, .micro = 1});
  const auto with = [&](int on_node) {
    config.place.data_ranks_of_node = on_node;
    return nccl_bytes(config) - nccl_groups(config) * nccl_reserve;
  };
  EXPECT_EQ(with(1), 0);
  EXPECT_EQ(with(2), 0);
  EXPECT_EQ(with(8), 8 * nvls_reserve);
  EXPECT_EQ(with(512), 8 * nvls_reserve);  // a dry run with unknown nodes
  config.zero.stage = 1;
  config.zero.shard_size = 2;
  EXPECT_EQ(with(8), (8 + 4) * nvls_reserve);
  config.parallel.data = 2;
  config.parallel.tensor = 4;
  config.zero.shard_size = 0;
  EXPECT_EQ(with(1), 4 * nvls_reserve);
}

// NCCL has buffers for each neighbouring stage.
TEST(NcclBytes, AreMoreForEachNeighbourOfAStage) {
  PlacedConfig config = golden_config({.pipeline = 2, .micro = 1});
  EXPECT_EQ(nccl_groups(config), 3) << "all ranks, the pipeline axis, first and last stage";
  EXPECT_EQ(nccl_bytes(config), 3 * nccl_reserve + nccl_peer_reserve);
  config.parallel.pipeline = 4;
  EXPECT_EQ(nccl_bytes(config), 3 * nccl_reserve + 2 * nccl_peer_reserve);
}

// Ranks with the same key and value heads sum their gradients in a group. With a single such head
// it is the tensor group, which exists already.
TEST(NcclGroups, CountRanksWithTheSameHeads) {
  PlacedConfig config = golden_config({.tensor = 4, .micro = 1});
  config.model.heads = 8;
  for (const auto& [heads, groups] : {std::pair{8, 2}, {4, 2}, {2, 3}, {1, 2}}) {
    config.model.kv_heads = heads;
    EXPECT_EQ(nccl_groups(config), groups) << heads << " key and value heads";
  }
}

TEST(MemoryText, LeavesOutWhatIsNotThere) {
  KindBytes bytes;
  bytes.gradients = 3 << 20;
  bytes.buffers = 1 << 19;
  EXPECT_EQ(memory_text(bytes), "3.5 MiB: gradients 3.0, buffers 0.5");
}

}  // namespace
}  // namespace triax::test
