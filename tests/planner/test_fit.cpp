// SPDX-License-Identifier: Apache-2.0
#include "src/planner/fit.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/planner/small_plan.hpp"

namespace triax::test {
namespace {

TEST(Fit, TheLeanestLayoutFitsItsMemoryAndNoLess) {
  const PlannedLlama file;
  Machine machine = *preset("h100");
  const JobToPlan job = job_to_plan(file.path, {}, 4, machine);
  const LayoutEvaluator evaluator(job, machine);
  const auto evaluate = [&](const Candidate& one) { return evaluator.evaluate(one); };
  const std::vector<Candidate> layouts = enumerate(job.base, machine, 4);
  const auto found = leanest(layouts, job.base, machine, false, evaluate);
  ASSERT_TRUE(found);
  const auto bytes = static_cast<double>(found->memory.scarce().total());
  EXPECT_EQ(found->candidate.offload, Offload::none);
  for (std::size_t i = 0; i < layouts.size(); i += 11) {
    if (layouts[i].offload != Offload::none) continue;
    const Evaluation other = evaluate(layouts[i]);
    EXPECT_TRUE(other.outcome != Evaluation::Outcome::priced ||
                static_cast<double>(other.memory.scarce().total()) >= bytes)
        << layouts[i].text();
  }
}

TEST(Fit, FewestRanksAreFewerWithMoreMemory) {
  const PlannedLlama file;
  Machine machine = *preset("h100");
  const JobToPlan job = job_to_plan(file.path, {}, 1, machine);
  const auto one = fewest_ranks(job, machine, false, 64);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->candidate.ranks(), 1);
  machine.memory = 3e9;
  const auto more = fewest_ranks(job, machine, false, 64);
  ASSERT_TRUE(more);
  EXPECT_GT(more->candidate.ranks(), 1);
  EXPECT_LE(more->memory.scarce().total(), 3'000'000'000);
  machine.memory = 1e8;
  EXPECT_FALSE(fewest_ranks(job, machine, false, 16));
}

TEST(Fit, TextNamesBoth) {
  const PlannedLlama file;
  const Machine machine = *preset("h100");
  EXPECT_THAT(fit_text(job_to_plan(file.path, {}, 4, machine), machine, 4),
              testing::AllOf(testing::HasSubstr("GB per rank on 4 ranks"),
                             testing::HasSubstr("without offload: 1 ranks of 80.0 GB")));
}

}  // namespace
}  // namespace triax::test
