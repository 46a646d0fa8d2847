// SPDX-License-Identifier: Apache-2.0
// triax plan as a user runs it.
#include "src/commands/plan_command.hpp"

#include <nlohmann/json.hpp>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PlanCommand : public SmallJob {};

TEST_F(PlanCommand, PrintsLayoutsAsTextAndJson) {
  const Outcome text = on_job("plan", "--ranks 2 --machine cpu");
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text, AllOf(HasSubstr("on 2 ranks of cpu"), HasSubstr("memory of a rank")));
  const Outcome json = on_job("plan", "--ranks 2 --machine cpu --top 2 --json 2>/dev/null");
  ASSERT_EQ(json.status, 0);
  const auto plans = nlohmann::json::parse(json.text)["plans"];
  EXPECT_EQ(plans.size(), 2U);
  EXPECT_GT(plans[0]["step_seconds"], 0.0);
}

TEST_F(PlanCommand, WritesAJobThatRuns) {
  const std::string planned = directory_.path("planned.json");
  const Outcome plan = on_job("plan", "--ranks 2 --machine cpu --write " + shell_word(planned));
  EXPECT_EQ(plan.status, 0) << plan.text;
  const Outcome run = triax_on(2, "train " + shell_word(planned));
  EXPECT_EQ(run.status, 0) << run.text;
}

TEST_F(PlanCommand, WrongMachinesAndMemoriesAreRefused) {
  const Outcome unknown = on_job("plan", "--machine h1000");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.text, HasSubstr("there is no machine \"h1000\""));
  directory_.file("lab.json", "{\"like\": \"cpu\",\n \"memory\": {\"bytes\": 64}}");
  const Outcome absurd = on_job("plan", "--machine " + shell_word(directory_.path("lab.json")));
  EXPECT_EQ(absurd.status, 2);
  EXPECT_THAT(absurd.text,
              AllOf(HasSubstr("lab.json:2"), HasSubstr("memory.bytes"), HasSubstr("absurd")));
  const Outcome small = on_job("plan", "--ranks 1 --machine cpu --device-memory 1MB");
  EXPECT_EQ(small.status, 2);
  EXPECT_THAT(small.text, HasSubstr("No layout fits"));
  const Outcome type = on_job("plan", "--machine v100 --set bf16.enabled=true");
  EXPECT_EQ(type.status, 2);
  EXPECT_THAT(type.text, HasSubstr("v100 does not compute in bf16"));
}

}  // namespace
}  // namespace triax::test
