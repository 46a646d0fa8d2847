// SPDX-License-Identifier: Apache-2.0
#include "src/planner/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/planner/small_plan.hpp"

namespace triax::test {
namespace {

// Branch and bound finds what pricing every layout finds.
TEST(Search, FindsTheBestOfAll) {
  const PlannedLlama file;
  Machine machine = *preset("a100");
  machine.memory = 6e9;
  const JobToPlan job = job_to_plan(file.path, {}, 4, machine);
  const Search found = search_all(job, machine, 4, 3);
  ASSERT_EQ(found.best.size(), 3U);
  const LayoutEvaluator evaluator(job, machine);
  double best = 0.0;
  std::size_t fit = 0;
  const std::vector<Candidate> all = enumerate(job.base, machine, 4);
  for (const Candidate& one : all) {
    const Evaluation exact = evaluator.evaluate(one);
    if (exact.outcome != Evaluation::Outcome::priced) continue;
    ++fit;
    if (best == 0.0 || exact.price.seconds < best) best = exact.price.seconds;
  }
  EXPECT_DOUBLE_EQ(found.best.front().price.seconds, best);
  EXPECT_LT(found.priced, fit / 2);
  EXPECT_EQ(found.layouts, all.size());
  EXPECT_EQ(found.too_large + found.refused + found.slower + found.priced, found.layouts);
  EXPECT_FALSE(found.cut);
}

TEST(Search, ListsEachGridOnceTheQuickestFirst) {
  const PlannedLlama file;
  const Machine machine = *preset("h100");
  const Search found = search_all(job_to_plan(file.path, {}, 8, machine), machine, 8, 5);
  ASSERT_EQ(found.best.size(), 5U);
  for (std::size_t i = 1; i < found.best.size(); ++i) {
    EXPECT_LE(found.best[i - 1].price.seconds, found.best[i].price.seconds);
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(found.best[i].candidate.tensor == found.best[j].candidate.tensor &&
                   found.best[i].candidate.pipeline == found.best[j].candidate.pipeline);
  }
}

TEST(Search, NothingFitsATinyMemory) {
  const PlannedLlama file;
  Machine machine = *preset("h100");
  machine.memory = 1e8;
  machine.host_bandwidth = 0.0;
  const Search found = search_all(job_to_plan(file.path, {}, 2, machine), machine, 2, 5);
  EXPECT_TRUE(found.best.empty());
  EXPECT_EQ(found.too_large, found.layouts);
  EXPECT_GT(found.least_bytes, 1e8);
}

TEST(Search, StopsAtItsLimitAndSaysSo) {
  const PlannedLlama file;
  const Machine machine = *preset("h100");
  const JobToPlan job = job_to_plan(file.path, {}, 8, machine);
  const LayoutEvaluator evaluator(job, machine);
  const Search found = search(
      enumerate(job.base, machine, 8), job.base, machine, 50,
      [&](const Candidate& one) { return evaluator.evaluate(one); }, 3);
  EXPECT_TRUE(found.cut);
  EXPECT_LE(found.priced, 3U);
}

}  // namespace
}  // namespace triax::test
