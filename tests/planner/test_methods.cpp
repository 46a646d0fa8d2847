// SPDX-License-Identifier: Apache-2.0
#include "src/planner/methods.hpp"

#include <gmock/gmock.h>

#include "tests/planner/small_plan.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<MethodResult> compare(const JobToPlan& job, const Machine& machine, int ranks) {
  const LayoutEvaluator evaluator(job, machine);
  return compare_methods(enumerate(job.base, machine, ranks), job.base, machine,
                         [&](const Candidate& one) { return evaluator.evaluate(one); });
}

TEST(Methods, ShareTheLayouts) {
  const PlannedLlama file;
  const Machine machine = *preset("h100");
  for (const Candidate& one : enumerate(job_to_plan(file.path, {}, 8, machine).base, machine, 8)) {
    int of = 0;
    for (const Method& method : methods()) of += method.has(one);
    EXPECT_EQ(of, 1) << one.text();
  }
}

// With ample memory the simplest of the quick ones is recommended; with little, what cuts more.
TEST(Methods, LessMemoryNeedsMoreInvolvedOnes) {
  const PlannedLlama file;
  Machine machine = *preset("h100");
  machine.host_bandwidth = 0.0;  // no offload
  const JobToPlan job = job_to_plan(file.path, {}, 4, machine);
  const std::vector<MethodResult> ample = compare(job, machine, 4);
  ASSERT_NE(recommended(ample), nullptr);
  EXPECT_STREQ(recommended(ample)->method->name, "data parallel (DDP)");
  EXPECT_THAT(explanation(ample, job, machine, 4),
              AllOf(HasSubstr("each can hold everything"),
                    HasSubstr("The numbers speak for data parallel (DDP)")));
  machine.memory = 4.2e9;
  const std::vector<MethodResult> short_of_it = compare(job, machine, 4);
  ASSERT_NE(recommended(short_of_it), nullptr);
  EXPECT_STRNE(recommended(short_of_it)->method->name, "data parallel (DDP)");
  EXPECT_THAT(explanation(short_of_it, job, machine, 4), HasSubstr("does not fit"));
  machine.memory = 1e8;
  const std::vector<MethodResult> none = compare(job, machine, 4);
  EXPECT_EQ(recommended(none), nullptr);
  EXPECT_THAT(explanation(none, job, machine, 4), HasSubstr("Nothing fits"));
}

}  // namespace
}  // namespace triax::test
