// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "src/config/ending.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::AllOf;
using testing::HasSubstr;

class ResolveSteps : public testing_support::JobFiles {
 protected:
  // A job whose steps are derived: a fraction for each key that takes one.
  LoadedJob epochs(const std::string& epochs, const std::string& scheduler = "cosine_with_min_lr",
                   const std::string& params = R"("num_warmup_steps": 0.1, "min_lr": 0)") const {
    return load_job(job(fmt::format(R"(, "run": {{"epochs": {}, "eval_interval": 0.25}},
        "checkpoint": {{"interval": 0.5}},
        "scheduler": {{"type": "{}", "params": {{{}}}}})",
                                    epochs, scheduler, params)),
                    {"data.valid=text.txt"}, 1);
  }
};

TEST_F(ResolveSteps, EpochsAreCountedLater) {
  const LoadedJob before = epochs("1.5");
  EXPECT_EQ(ending_config(before.resolved).epochs, 1.5);
  EXPECT_EQ(before.config.run.steps, 0);
  EXPECT_GT(before.config.checkpoint.interval, 0) << "a plan depends on whether there is one";
  EXPECT_EQ(before.config.checkpoint.async, AsyncWrites::where_it_fits);
  const LoadedJob after = with_steps(before, 50);
  EXPECT_EQ(after.config.run.steps, 50);
  EXPECT_EQ(after.config.run.eval_interval, 13) << "0.25 of 50, rounded up";
  EXPECT_EQ(after.config.checkpoint.interval, 25);
  EXPECT_EQ(after.config.scheduler.numbers.at("num_warmup_steps"), 5);
}

TEST_F(ResolveSteps, TracedStepsAreOfTheStepsThatWereCounted) {
  const LoadedJob before =
      load_job(job(R"(, "run": {"epochs": 1, "trace_steps": [60, 62]})"), {}, 1);
  EXPECT_EQ(with_steps(before, 70).config.run.steps, 70);
  EXPECT_THROW(with_steps(before, 50), UsageError);
}

// job.json starts the same run again, whatever happened to the data.
TEST_F(ResolveSteps, JobJsonHasTheStepsThatWereCounted) {
  const auto json = nlohmann::json::parse(with_steps(epochs("3"), 50).resolved);
  EXPECT_EQ(json["run"]["steps"], 50);
  EXPECT_FALSE(json["run"].contains("epochs"));
  EXPECT_EQ(json["checkpoint"]["interval"], 25);
  EXPECT_EQ(json["scheduler"]["params"]["num_warmup_steps"], 5);
  const LoadedJob again = load_job(write("again/job.json", json.dump()), {}, 1);
  EXPECT_EQ(again.config.run.steps, 50);
  EXPECT_EQ(again.config.run.eval_interval, 13);
}

TEST_F(ResolveSteps, SchedulesThatEndWithTheRunSeeThem) {
  const LoadedJob decay = epochs("2", "WarmupDecayLR", R"("warmup_num_steps": 0.03)");
  EXPECT_FALSE(decay.config.scheduler.numbers.contains("total_num_steps"));
  const auto numbers = with_steps(decay, 200).config.scheduler.numbers;
  EXPECT_EQ(numbers.at("total_num_steps"), 200);
  EXPECT_EQ(numbers.at("warmup_num_steps"), 6);
}

// Rules about the number of steps hold for derived steps, too.
TEST_F(ResolveSteps, TooFewStepsForTheScheduleAreRefusedOnceTheyAreCounted) {
  const LoadedJob stable = epochs("2", "warmup_stable_decay", R"("num_decay_steps": 30)");
  EXPECT_EQ(with_steps(stable, 30).config.run.steps, 30);
  try {
    with_steps(stable, 29);
    FAIL() << "expected an error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("are more than run.steps 29"));
  }
}

TEST_F(ResolveSteps, AFractionIsOfRunSteps) {
  const Config c = config(R"(, "run": {"steps": 100}, "checkpoint": {"interval": 0.07})");
  EXPECT_EQ(c.checkpoint.interval, 7) << "0.07 x 100 is above 7 in binary";
  EXPECT_EQ(
      config(R"(, "run": {"steps": 3}, "checkpoint": {"interval": 0.01})").checkpoint.interval, 1);
  EXPECT_THAT(error(R"(, "run": {"steps": 3}, "checkpoint": {"interval": 1.5})"),
              HasSubstr("checkpoint.interval: expected integer, a fraction of run.steps below 1, "
                        "got 1.5"));
  EXPECT_THAT(error(R"(, "run": {"steps": 0.5})"), HasSubstr("run.steps: expected integer, got"));
}

TEST_F(ResolveSteps, OnlyOneOfStepsAndEpochs) {
  EXPECT_THAT(error(R"(, "run": {"epochs": 3,
    "steps": 7})"),
              AllOf(HasSubstr("run.epochs: run.steps 7 (job.json:4) sets the steps, too"),
                    HasSubstr("Leave one of them out, or set it to null")));
  const std::string file = job(R"(, "run": {"epochs": 3})");
  EXPECT_EQ(load_job(file, {"run.epochs=null", "run.steps=7"}, 1).config.run.steps, 7);
  EXPECT_THAT(error(R"(, "run": {"epochs": 0})"), HasSubstr("run.epochs: 0 is not allowed"));
}

// An epoch of which source?
TEST_F(ResolveSteps, EpochsOfBlendedSourcesAreRefused) {
  write("more.txt", "more text");
  const auto with = [&](const std::string& train) {
    return error_of(job(R"(, "run": {"epochs": 1})"), 1, {"data.train=" + train});
  };
  EXPECT_THAT(with(R"([{"paths": "text.txt", "weight": 1}, {"paths": "more.txt", "weight": 2}])"),
              HasSubstr("each of them ends an epoch at a step of its own. Set run.steps"));
  EXPECT_EQ(with(R"([{"paths": ["text.txt", "more.txt"], "weight": 1}])"), "");
  EXPECT_EQ(with(R"(["text.txt", "more.txt"])"), "");
}

TEST(StepsOfEpochs, EndInTheStepInWhichTheEpochsEnd) {
  EXPECT_EQ(steps_of_epochs(3, 100, 10), 30);
  EXPECT_EQ(steps_of_epochs(3, 101, 10), 31);
  EXPECT_EQ(steps_of_epochs(0.5, 101, 10), 6);
  EXPECT_EQ(steps_of_epochs(0.01, 10, 10), 1);
  EXPECT_EQ(steps_of_epochs(1.1, 100, 1), 110) << "1.1 x 100 is above 110 in binary";
}

TEST_F(ResolveSteps, EarlyStoppingNeedsValidation) {
  for (const char* more : {R"(, "run": {"early_stopping": {"patience": 2}})",
                           R"(, "checkpoint": {"keep_best": true})"})
    EXPECT_THAT(error(more), HasSubstr("there is no validation: run.eval_interval is 0")) << more;
  const std::string more = R"(, "run": {"eval_interval": 5, "early_stopping": {"patience": 2,
      "threshold": 0.01}}, "checkpoint": {"keep_best": true})";
  const EndingConfig ending =
      ending_config(load_job(job(more), {"data.valid=text.txt"}, 1).resolved);
  EXPECT_EQ(ending, (EndingConfig{.patience = 2, .threshold = 0.01, .keep_best = true}));
  EXPECT_THAT(error(more, 1, {"data.valid=text.txt", "checkpoint.at_end=false"}),
              HasSubstr("this job writes no files. Set one of them"));
}

}  // namespace
}  // namespace triax
