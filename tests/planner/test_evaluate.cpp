// SPDX-License-Identifier: Apache-2.0
#include "src/planner/evaluate.hpp"

#include <gmock/gmock.h>

#include "src/config/load/load.hpp"
#include "src/forecast/job_plan.hpp"
#include "tests/planner/small_plan.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/job_builder.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

constexpr Candidate three_d{
    .tensor = 2, .pipeline = 2, .data = 2, .micro = 1, .accumulation = 32, .zero = 1};

// The memory is that of triax train --dry-run, but for the program, which grows meanwhile.
TEST(Evaluate, MemoryIsTheForecastOfTheSameJob) {
  const PlannedLlama file;
  const Machine machine = *preset("h100");
  const JobToPlan job = job_to_plan(file.path, {}, 8, machine);
  const Evaluation found = LayoutEvaluator(job, machine).evaluate(three_d);
  ASSERT_EQ(found.outcome, Evaluation::Outcome::priced) << found.reason;
  Config config = load_job_to_plan(file.path, overrides_of(three_d, 64), 8).config;
  config.run.space = MemorySpace::device;
  const JobPlan plan = plan_job(on_nodes(config, 8));
  EXPECT_EQ(found.memory.device, plan.memory.of(plan.memory.fullest()).device);
  EXPECT_GT(found.price.seconds, 0.0);
}

TEST(Evaluate, SaysWhyALayoutDoesNotFit) {
  const PlannedLlama file;
  Machine machine = *preset("h100");
  machine.memory = 1e9;
  const JobToPlan job = job_to_plan(file.path, {}, 8, machine);
  const Evaluation found = LayoutEvaluator(job, machine).evaluate(three_d);
  EXPECT_EQ(found.outcome, Evaluation::Outcome::too_large);
  EXPECT_THAT(found.reason, HasSubstr("GB, and has 1.0"));
}

TEST(Evaluate, ALayoutThatTheJobRefusesHasItsReason) {
  const PlannedLlama file;
  const Machine machine = *preset("h100");
  const JobToPlan job = job_to_plan(file.path, {}, 8, machine);
  Candidate wrong = three_d;
  wrong.tensor = 3;
  const Evaluation found = LayoutEvaluator(job, machine).evaluate(wrong);
  EXPECT_EQ(found.outcome, Evaluation::Outcome::refused);
  EXPECT_FALSE(found.reason.empty());
}

TEST(JobToPlan, RefusesWhatNoLayoutOfTheMachineCanDo) {
  nlohmann::json job = golden_job(read_golden("llama-lora"), {.micro = 1});
  job["model"]["quantize"] = "nf4";
  job["run"].erase("device");
  const PlannedLlama file(job);
  EXPECT_THAT(error_of([&] { job_to_plan(file.path, {}, 2, *preset("h100")); }),
              HasSubstr("triax plan --machine cpu"));
  EXPECT_TRUE(job_to_plan(file.path, {}, 2, *preset("cpu")).base.model.kept);
}

TEST(JobToPlan, TakesTheBatchOfTheLayoutInTheFile) {
  nlohmann::json job = llama_job();
  job.erase("train_batch_size");
  job["train_micro_batch_size_per_gpu"] = 2;
  job["gradient_accumulation_steps"] = 4;
  const PlannedLlama file(job);
  EXPECT_EQ(job_to_plan(file.path, {}, 8, *preset("h100")).base.batch.global, 64);
}

}  // namespace
}  // namespace triax::test
