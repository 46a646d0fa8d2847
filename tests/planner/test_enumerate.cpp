// SPDX-License-Identifier: Apache-2.0
#include "src/planner/enumerate.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/planner/small_plan.hpp"

namespace triax::test {
namespace {

std::vector<Candidate> layouts(int ranks, const Machine& machine) {
  const PlannedLlama job;
  return enumerate(job_to_plan(job.path, {}, ranks, machine).base, machine, ranks);
}

TEST(Enumerate, EveryLayoutFillsTheRanksAndTheBatch) {
  const std::vector<Candidate> all = layouts(32, *preset("h100"));
  EXPECT_GT(all.size(), 100U);
  for (const Candidate& c : all) {
    EXPECT_EQ(c.ranks(), 32) << c.text();
    EXPECT_EQ(c.micro * c.accumulation * c.data, 64) << c.text();
    EXPECT_LE(c.tensor, 8) << c.text();
    EXPECT_LE(c.pipeline * c.chunks, 8) << c.text();
    EXPECT_TRUE(c.data > 1 || c.zero == 0) << c.text();
    EXPECT_TRUE(c.chunks == 1 || c.accumulation % c.pipeline == 0) << c.text();
  }
}

TEST(Enumerate, HasEveryGridOfEightRanks) {
  std::set<std::pair<int, int>> grids;
  for (const Candidate& c : layouts(8, *preset("h100"))) grids.insert({c.tensor, c.pipeline});
  EXPECT_EQ(grids,
            (std::set<std::pair<int, int>>{
                {1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {8, 1}}));
}

TEST(Enumerate, ProcessorsOffloadNothing) {
  for (const Candidate& c : layouts(4, *preset("cpu"))) EXPECT_EQ(c.offload, Offload::none);
}

}  // namespace
}  // namespace triax::test
