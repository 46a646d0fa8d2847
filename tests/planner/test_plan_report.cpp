// SPDX-License-Identifier: Apache-2.0
#include "src/planner/plan_report.hpp"

#include <gmock/gmock.h>

#include "src/config/load/load.hpp"
#include "tests/planner/small_plan.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PlanReports : public testing::Test {
 protected:
  PlannedLlama file_;
  Machine machine_ = *preset("h100");
  JobToPlan job_ = job_to_plan(file_.path, {"run.steps=7"}, 8, machine_);
  Search search_ = search_all(job_, machine_, 8, 3);
  PlanReport report_{job_, machine_, 8, search_};
};

TEST_F(PlanReports, TextHasMemoryBytesAndVerdicts) {
  const std::string text = report_text(report_, 1e9);
  EXPECT_THAT(text, AllOf(HasSubstr("llama of 0.2B parameters, 64 samples of 2048 tokens"),
                          HasSubstr("8 ranks of h100"), HasSubstr("memory of a rank of stage"),
                          HasSubstr("parameters"), HasSubstr("sent by a rank per step"),
                          HasSubstr("2: "), HasSubstr("% slower: "), HasSubstr("device hours"),
                          HasSubstr("MWh"), HasSubstr("Megatron-LM")));
}

TEST_F(PlanReports, JsonHasTheSameAndTheKeys) {
  const auto json = nlohmann::json::parse(report_json(report_, 1e9));
  ASSERT_EQ(json["plans"].size(), 3U);
  const auto& first = json["plans"][0];
  EXPECT_DOUBLE_EQ(first["step_seconds"], search_.best[0].price.seconds);
  EXPECT_EQ(first["keys"]["parallel"]["tensor"], first["tensor"]);
  EXPECT_EQ(first["keys"]["train_batch_size"], 64);
  EXPECT_FALSE(first.contains("verdict"));
  EXPECT_TRUE(json["plans"][1].contains("verdict"));
  EXPECT_EQ(json["layouts"]["all"], search_.layouts);
  EXPECT_GT(first["device"]["parameters"], 0);
  EXPECT_NEAR(json["run"]["device_hours"].get<double>(),
              1e9 / (64 * 2048) * search_.best[0].price.seconds / 3600 * 8, 1e-6);
}

TEST_F(PlanReports, AWrittenJobHasTheLayout) {
  const TempDirectory folder;
  const std::string target = folder.path("planned.json");
  const Candidate& best = search_.best.front().candidate;
  std::ofstream(target) << job_with(best, job_, target);
  const Config config = load_job_to_plan(target, {}, 8).config;
  EXPECT_EQ(config.parallel.tensor, best.tensor);
  EXPECT_EQ(config.parallel.pipeline, best.pipeline);
  EXPECT_EQ(config.batch.micro, best.micro);
  EXPECT_EQ(config.zero.stage, best.zero);
  EXPECT_EQ(config.run.steps, 7);
  EXPECT_EQ(config.model.hidden, 1024);
}

TEST_F(PlanReports, SayWhenNothingFits) {
  Machine small = machine_;
  small.memory = 1e8;
  const Search none = search_all(job_, small, 8, 3);
  EXPECT_THAT(report_text({job_, small, 8, none}), HasSubstr("No layout fits"));
  EXPECT_TRUE(nlohmann::json::parse(report_json({job_, small, 8, none}))["plans"].empty());
}

}  // namespace
}  // namespace triax::test
