// SPDX-License-Identifier: Apache-2.0
// triax report, watch, trace, and checkpoint average and analyze, on a run as a user makes it.
#include <nlohmann/json.hpp>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ViewCommands : public SmallJob {
 protected:
  void SetUp() override {
    SmallJob::SetUp();
    const Outcome run = on_job("train",
                               "--set 'run.trace_steps=[0, 2]' --set run.tensorboard=true "
                               "--set checkpoint.interval=1");
    ASSERT_EQ(run.status, 0) << run.text;
    EXPECT_THAT(run.text, HasSubstr("trace.json: the instructions of the traced steps"));
  }
  std::string run_directory() const { return shell_word(directory_.path("run")); }
  std::string checkpoint(int step) const {
    return shell_word(directory_.path("run/checkpoints/step-00000" + std::to_string(step) + ".h5"));
  }
};

TEST_F(ViewCommands, ShowTheRun) {
  const Outcome report = triax("report " + run_directory());
  EXPECT_EQ(report.status, 0) << report.text;
  EXPECT_EQ(report.text, directory_.path("run") + "/report.html\n");
  EXPECT_THAT(contents(directory_.path("run/report.html")),
              AllOf(HasSubstr("As it ran: step 0"), HasSubstr("As planned"),
                    HasSubstr("Memory by kind"), HasSubstr("Seconds per checkpoint")));
  const Outcome two = triax("report " + run_directory() + " " + run_directory() + " --out " +
                            shell_word(directory_.path("both.html")) + " --machine cpu");
  EXPECT_EQ(two.status, 0) << two.text;
  EXPECT_THAT(contents(directory_.path("both.html")), HasSubstr("Nothing: the jobs are equal"));
  EXPECT_THAT(contents(directory_.path("both.html")), HasSubstr("for the machine cpu"));
  const Outcome watch = triax("watch " + run_directory());
  EXPECT_EQ(watch.status, 0);
  EXPECT_THAT(watch.text,
              AllOf(HasSubstr("done"), HasSubstr("step 2 of 2"), Not(HasSubstr("\033"))));
}

TEST_F(ViewCommands, CompareTheTrace) {
  for (const char* machine : {"cpu", "run"}) {
    const Outcome outcome =
        triax("trace compare " + run_directory() + " --machine " + std::string(machine));
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("ms measured (mean of 2 step(s) on 1 rank(s)"),
                                    HasSubstr("Largest differences")));
  }
  const Outcome json = triax("trace compare " + run_directory() + " --machine run --json --top 2");
  EXPECT_EQ(nlohmann::json::parse(json.text)["largest"].size(), 2U);
}

TEST_F(ViewCommands, AverageAndAnalyzeCheckpoints) {
  const std::string out = shell_word(directory_.path("mean.h5"));
  const std::string average =
      "checkpoint average " + checkpoint(1) + " " + checkpoint(2) + " --out " + out;
  EXPECT_THAT(triax(average).text, HasSubstr("the average of 2 files"));
  const Outcome again = triax(average);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.text, HasSubstr("is there already"));
  EXPECT_EQ(triax("checkpoint verify " + out).status, 0);
  EXPECT_EQ(triax("generate " + out + " --prompt a --max-tokens 2").status, 0);
  const Outcome analysis =
      triax("checkpoint analyze --json --values 2 " + checkpoint(1) + " " + out);
  const auto files = nlohmann::json::parse(analysis.text)["files"];
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[1]["step"], 2);
  EXPECT_GT(files[1]["tensors"][0]["drift"].get<double>(), 0.0);
}

TEST_F(SmallJob, ViewsOfNothingSayWhatIsMissing) {
  std::filesystem::create_directory(directory_.path("empty"));
  const std::string nothing = shell_word(directory_.path("empty"));
  for (const char* command : {"report ", "watch "}) {
    const Outcome outcome = triax(command + nothing);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.text, HasSubstr("has neither metrics.jsonl nor job.json")) << command;
  }
  const Outcome trace = triax("trace compare " + nothing);
  EXPECT_EQ(trace.status, 2);
  EXPECT_THAT(trace.text, HasSubstr("run.trace_steps"));
}

}  // namespace
}  // namespace triax::test
