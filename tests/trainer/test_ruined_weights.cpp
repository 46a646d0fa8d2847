// SPDX-License-Identifier: Apache-2.0
// Ends of a run during bad steps: files of weights that no step can go on from are not kept.
#include "tests/trainer/run_ends.hpp"

namespace triax::test {
namespace {

class RuinedWeights : public RunEnds {
 protected:
  // A job whose first update breaks the weights: no later step is finite.
  nlohmann::json diverging(std::int64_t steps, double rate = 1e18) const {
    auto diverges = job("run", steps);
    diverges["optimizer"]["params"]["lr"] = rate;
    return diverges;
  }
};

// No batch had a finite loss with the weights that the first step left: a file of them would be
// resumed for ever.
TEST_F(RuinedWeights, WeightsThatTheFirstStepRuinedAreNotWritten) {
  for (const std::int64_t interval : {0, 1}) {
    auto job = diverging(3);
    job["checkpoint"] = {{"interval", interval}};
    for (int start = 0; start < 2; ++start) {
      EXPECT_THAT(
          error_of([&] { train_to_the_end(job); }),
          AllOf(HasSubstr("2 steps in a row, from step 2 on"),
                HasSubstr("no batch has a finite loss with the weights that step 1 left; no "
                          "other checkpoint is there: rerun the same command to begin")));
      EXPECT_THAT(checkpoints("run"), IsEmpty());
    }
  }
}

TEST_F(RuinedWeights, TooManyBadStepsAtTheLastStepLeaveNoRuinedWeights) {
  auto job = diverging(3);
  job["run"]["max_bad_steps"] = 1;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              HasSubstr("2 steps in a row, from step 2 on"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
}

TEST_F(RuinedWeights, WeightsThatTheLastUpdateBrokeAreNotWritten) {
  EXPECT_THAT(error_of([&] { train_to_the_end(diverging(1, 1e39)); }),
              HasSubstr("weights are not finite after the last step, 1"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
}

// The checkpoint is due after the step whose update broke the weights; it would stay the newest
// forever.
TEST_F(RuinedWeights, WeightsThatAnUpdateBrokeAreNotTheNewest) {
  auto job = diverging(10, 1e39);
  job["checkpoint"]["interval"] = 1;
  job["run"]["max_bad_steps"] = 1;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), HasSubstr("in a row, from step 2 on"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
}

// The update of step 2 leaves finite weights, with which no batch has a finite loss.
TEST_F(RuinedWeights, ACheckpointOfRuinedWeightsIsSetAside) {
  train_to_the_end(job("run", 2));
  auto job = diverging(10);
  job["checkpoint"] = {{"interval", 1}, {"keep", 1}};
  job["run"]["max_bad_steps"] = 1;
  EXPECT_THAT(
      error_of([&] { train_to_the_end(job); }),
      AllOf(HasSubstr("no batch has a finite loss with the weights that step 3 left"),
            HasSubstr("step-000002.h5 is the newest checkpoint with a loss within the spike limit"),
            Not(HasSubstr("there is no checkpoint"))));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000002.h5"));
  EXPECT_TRUE(
      std::filesystem::exists(directory_.path("run/checkpoints/step-000003.h5.superseded")));
}

// The run that ruined the weights ended before a loss of theirs was known.
TEST_F(RuinedWeights, RuinedWeightsThatARunResumesAreSetAside) {
  train_to_the_end(job("run", 2));
  train_to_the_end(diverging(3));
  ASSERT_THAT(checkpoints("run"), ElementsAre("step-000003.h5", "step-000002.h5"));
  auto other = job("run", 10);
  other["bf16"] = {{"enabled", true}};  // perhaps the precision is at fault: all files stay
  EXPECT_THAT(error_of([&] { train_to_the_end(other); }),
              Not(HasSubstr("no batch has a finite loss")));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000003.h5", "step-000002.h5"));
  EXPECT_THAT(
      error_of([&] { train_to_the_end(job("run", 10)); }),
      AllOf(HasSubstr("no batch has a finite loss with the weights that step 3 left"),
            HasSubstr("step-000002.h5 is the newest checkpoint with a loss within the spike limit: "
                      "rerun the same command")));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000002.h5"));
  EXPECT_TRUE(
      std::filesystem::exists(directory_.path("run/checkpoints/step-000003.h5.superseded")));
  train_to_the_end(job("run", 4));
  EXPECT_EQ(checkpoints("run").front(), "step-000004.h5");
}

TEST_F(RuinedWeights, WithoutASoundCheckpointRuinedWeightsAreSetAsideToo) {
  train_to_the_end(diverging(1));
  ASSERT_THAT(checkpoints("run"), ElementsAre("step-000001.h5"));
  auto sane = job("run", 4);
  sane["checkpoint"] = {{"resume", "must"}};
  EXPECT_THAT(error_of([&] { train_to_the_end(sane); }),
              HasSubstr("no other checkpoint is there: rerun with --set checkpoint.resume=never"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
  train_to_the_end(job("run", 4));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000004.h5"));
}

}  // namespace
}  // namespace triax::test
