// SPDX-License-Identifier: Apache-2.0
#include "src/planner/candidate.hpp"

#include <gmock/gmock.h>

#include "src/config/load/load.hpp"
#include "tests/planner/small_plan.hpp"

namespace triax::test {
namespace {

TEST(Candidate, IsNamedByWhatItChooses) {
  Candidate candidate{.tensor = 8, .pipeline = 4, .data = 2, .chunks = 5, .micro = 1};
  candidate.accumulation = 64;
  candidate.zero = 1;
  candidate.recompute = Recompute::layer;
  EXPECT_EQ(candidate.text(),
            "tensor 8 x pipeline 4 x data 2, interleaved of 5 chunks, micro 1 x 64, ZeRO-1, "
            "recompute layer");
  EXPECT_EQ(candidate.ranks(), 64);
}

// The keys say to the job what the candidate says.
TEST(Candidate, ItsKeysLoadAsItself) {
  const PlannedLlama job;
  for (const Recompute what : {Recompute::none, Recompute::attention, Recompute::layer}) {
    const Candidate candidate{.tensor = 2,
                              .pipeline = 2,
                              .data = 4,
                              .chunks = 2,
                              .micro = 2,
                              .accumulation = 8,
                              .zero = 3,
                              .recompute = what,
                              .offload = Offload::parameters};
    const Config config = load_job_to_plan(job.path, overrides_of(candidate, 64), 16).config;
    EXPECT_EQ(config.parallel.tensor, 2);
    EXPECT_EQ(config.parallel.data, 4);
    EXPECT_EQ(config.parallel.schedule, "interleaved");
    EXPECT_EQ(config.batch.micro, 2);
    EXPECT_EQ(config.batch.accumulation, 8);
    EXPECT_EQ(config.zero.stage, 3);
    EXPECT_EQ(config.recompute.what, what);
    EXPECT_EQ(config.zero.offload_optimizer.device, OffloadDevice::cpu);
    EXPECT_EQ(config.zero.offload_param.device, OffloadDevice::cpu);
  }
}

}  // namespace
}  // namespace triax::test
