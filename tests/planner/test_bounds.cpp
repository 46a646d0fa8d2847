// SPDX-License-Identifier: Apache-2.0
#include "src/planner/bounds.hpp"

#include <gtest/gtest.h>

#include "tests/planner/small_plan.hpp"

namespace triax::test {
namespace {

// No plan is quicker or smaller than its bounds, or the search would leave out the best.
TEST(Bounds, HoldForEveryLayout) {
  const PlannedLlama file;
  const Machine machine = *preset("h100");
  const JobToPlan job = job_to_plan(file.path, {}, 16, machine);
  const LayoutEvaluator evaluator(job, machine);
  Bounds bounds(job.base, machine);
  int priced = 0, tight = 0;
  const std::vector<Candidate> all = enumerate(job.base, machine, 16);
  for (std::size_t i = 0; i < all.size(); i += 7) {
    const Evaluation exact = evaluator.evaluate(all[i]);
    if (exact.outcome != Evaluation::Outcome::priced) continue;
    ++priced;
    const double least = bounds.seconds(all[i]);
    EXPECT_LE(least, exact.price.seconds) << all[i].text();
    tight += least > 0.6 * exact.price.seconds;
    EXPECT_LE(bounds.bytes(all[i]), static_cast<double>(exact.memory.scarce().total()))
        << all[i].text();
  }
  EXPECT_GT(priced, 30);
  EXPECT_GT(tight, priced / 2);
}

}  // namespace
}  // namespace triax::test
