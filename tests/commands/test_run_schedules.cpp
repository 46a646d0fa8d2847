// SPDX-License-Identifier: Apache-2.0
// Learning rates that runs log, and follow when they are resumed.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunSchedules : public SmallJob {};

TEST_F(RunSchedules, ARunSaysItsRatesAndWhatChangedSinceItsCheckpoint) {
  const std::string cosine = "--set scheduler.type=cosine ";
  const Outcome first = on_job("train", cosine);
  ASSERT_EQ(first.status, 0) << first.text;
  EXPECT_THAT(first.text, HasSubstr("learning rate up to 0.001 by cosine: 0.001 at step 1, 0.0005 "
                                    "at step 2"));
  std::ofstream(directory_.path("text.txt"), std::ios::app) << "a line more";
  const Outcome second = on_job("train", cosine + "--set run.steps=4");
  EXPECT_EQ(second.status, 0) << second.text;
  EXPECT_THAT(second.text, AllOf(HasSubstr("the cosine now ends at step 4"),
                                 HasSubstr("resumed with other training data")));
}

// num_stable_steps sets the end, whatever run.steps.
TEST_F(RunSchedules, AResumedRunContinuesItsSchedule) {
  const std::string schedule =
      "--set scheduler.type=warmup_stable_decay --set scheduler.params.num_warmup_steps=2 "
      "--set scheduler.params.num_stable_steps=1 --set scheduler.params.num_decay_steps=3 ";
  const auto rates = [&](const std::string& directory) {
    std::vector<double> found;
    std::istringstream text(contents(directory_.path(directory + "/metrics.jsonl")));
    for (std::string line; std::getline(text, line);)
      if (const auto entry = nlohmann::json::parse(line); entry.contains("lr"))
        found.push_back(entry["lr"]);
    return found;
  };
  const Outcome whole = on_job("train", schedule + "--set run.steps=6 --set run.directory=" +
                                            shell_word(directory_.path("whole")));
  ASSERT_EQ(whole.status, 0) << whole.text;
  ASSERT_EQ(on_job("train", schedule).status, 0);
  const Outcome resumed = on_job("train", schedule + "--set run.steps=6");
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_THAT(resumed.text, AllOf(HasSubstr("resumed from"), Not(HasSubstr("now ends at step"))));
  EXPECT_EQ(rates("run"), rates("whole"));
  EXPECT_EQ(rates("run").size(), 6U);
}

TEST_F(RunSchedules, AChangedLengthMovesTheDecayAndIsSaid) {
  const std::string schedule =
      "--set scheduler.type=warmup_stable_decay --set scheduler.params.num_decay_steps=1 ";
  const Outcome first = on_job("train", schedule);
  ASSERT_EQ(first.status, 0) << first.text;
  EXPECT_THAT(first.text, HasSubstr("learning rate up to 0.001 by warmup_stable_decay: 0.001 at "
                                    "step 1, 0.001 at step 2"));
  EXPECT_THAT(
      on_job("train", schedule + "--set run.steps=4").text,
      HasSubstr("the warmup_stable_decay now ends at step 4: the learning rate of step 3 is "
                "0.001, 0 with the run.steps 2 of the checkpoint's job"));
  const Outcome plan = on_job("train", "--dry-run --set scheduler.type=warmup_stable_decay");
  EXPECT_EQ(plan.status, 2);
  EXPECT_THAT(plan.text, HasSubstr("scheduler.params.num_decay_steps: missing"));
}

}  // namespace
}  // namespace triax::test
