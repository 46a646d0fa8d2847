// SPDX-License-Identifier: Apache-2.0
// ZeRO's sharding, and how far it reduces and gathers ahead, change no bit if the sums are the
// same.
#include <gtest/gtest.h>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = 3;

// Layouts of these ranks with a data axis. Interleaved and gpipe hold gradients of several
// micro-batches at once.
std::vector<Layout> layouts() {
  if (world_size() == 2)
    return {{.data = 2, .micro = 2},
            {.data = 2, .schedule = "gpipe", .chunks = 2, .micro = 2},
            {.data = 2, .micro = 1, .recompute = 1}};
  return {{.data = 4, .micro = 1},
          {.pipeline = 2, .data = 2, .micro = 2},
          {.pipeline = 2, .data = 2, .schedule = "interleaved", .chunks = 2, .micro = 1},
          {.tensor = 2, .data = 2, .micro = 2}};
}

std::vector<StepMetrics> train_job(const nlohmann::json& job) {
  return train(MPI_COMM_WORLD, job, steps);
}

// Calls visit(case, layout) for a tied and an untied model on every layout.
template <class Visit>
void for_each_job(int zero, Visit&& visit) {
  for (const char* name : {"gpt2-tiny", "llama-tiny"})
    for (Layout layout : layouts()) {
      layout.zero = zero;
      SCOPED_TRACE(name + (": " + layout.text()));
      visit(read_golden(name), layout);
    }
}

TEST(Zero, GatheringAheadChangesNoBit) {
  for_each_job(3, [](const GoldenCase& golden, const Layout& layout) {
    auto job = golden_job(golden, layout);
    const auto ahead = train_job(job);
    job["zero_optimization"]["stage3_prefetch_bucket_size"] = 0;
    expect_same_bits(ahead, train_job(job));
    job["zero_optimization"].erase("stage3_prefetch_bucket_size");
    job["zero_optimization"]["stage3_max_live_parameters"] = 0;
    expect_same_bits(ahead, train_job(job));
  });
}

TEST(Zero, OverlapChangesNoBit) {
  for (const int zero : {2, 3})
    for_each_job(zero, [](const GoldenCase& golden, const Layout& layout) {
      auto job = golden_job(golden, layout);
      const auto beside_compute = train_job(job);
      job["zero_optimization"]["overlap_comm"] = false;
      expect_same_bits(beside_compute, train_job(job));
      if (layout.zero == 3) return;  // reduces like ZeRO-2
      job["zero_optimization"]["overlap_comm"] = true;
      job["zero_optimization"]["reduce_bucket_size"] = 1;
      expect_same_bits(beside_compute, train_job(job));
    });
}

TEST(Zero, GatheringInPiecesChangesNoBit) {
  for (const int zero : {1, 3})
    for_each_job(zero, [](const GoldenCase& golden, const Layout& layout) {
      auto job = golden_job(golden, layout);
      if (layout.zero == 3) job["zero_optimization"]["stage3_param_persistence_threshold"] = 5000;
      const auto whole = train_job(job);
      job["zero_optimization"]["allgather_bucket_size"] = 3000;
      const auto pieces = train_job(job);
      expect_same_bits(whole, pieces);
      EXPECT_EQ(whole.front().bytes_sent_data, pieces.front().bytes_sent_data);
      EXPECT_LT(whole.front().messages_sent_data, pieces.front().messages_sent_data);
    });
}

TEST(Zero, ShardedParametersChangeNoBit) {
  for_each_job(2, [](const GoldenCase& golden, Layout layout) {
    const auto whole = train_job(golden_job(golden, layout));
    layout.zero = 3;
    expect_same_bits(whole, train_job(golden_job(golden, layout)));
  });
}

// Two ranks add the same two numbers, once per step if there is one micro-batch.
TEST(Zero, ShardedGradientsOfOneMicrobatchChangeNoBitOnTwoRanks) {
  if (world_size() != 2) GTEST_SKIP() << "needs 2 ranks";
  for (const char* name : {"gpt2-tiny", "llama-tiny"}) {
    const GoldenCase golden = read_golden(name);
    SCOPED_TRACE(name);
    const auto replicated = train_job(golden_job(golden, {.data = 2, .micro = 4}));
    for (const int zero : {1, 2, 3}) {
      SCOPED_TRACE(zero);
      expect_same_bits(replicated,
                       train_job(golden_job(golden, {.data = 2, .micro = 4, .zero = zero})));
    }
  }
}

// 16-bit types take the same paths.
TEST(Zero, PlacementChangesNoBitIn16Bits) {
  const GoldenCase golden = read_golden("llama-tiny");
  for (Layout layout : layouts())
    for (const char* type : {"bf16", "fp16"}) {
      if (layout.schedule == "1f1b") continue;  // gpipe and interleaved keep gradients longest
      layout.type = type;
      layout.zero = 2;
      SCOPED_TRACE(layout.text());
      const auto two = train_job(golden_job(golden, layout));
      layout.zero = 3;
      expect_same_bits(two, train_job(golden_job(golden, layout)));
      layout.overlap = false;
      expect_same_bits(two, train_job(golden_job(golden, layout)));
    }
}

}  // namespace
}  // namespace triax::test
