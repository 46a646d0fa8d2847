// SPDX-License-Identifier: Apache-2.0
// Errors of ranks with different plans, thrown on all ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "src/forecast/same_plan.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A job over all ranks along one axis, with other plans and messages on the last rank.
class OtherPlan : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (ranks_ == 1) GTEST_SKIP() << "one rank has no other";
  }
  std::string refusal(const Layout& layout,
                      const std::function<void(StepPlans&, RankMessages&)>& change) {
    const PlacedConfig config = golden_config(layout);
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, config);
    StepPlans plans = step_plans(config);
    EXPECT_NO_THROW(check_same_plan(grid, config, plans));
    RankMessages messages =
        rank_messages(config, plans, {grid.data_rank(), grid.pipeline_rank(), grid.tensor_rank()});
    if (grid.rank() == ranks_ - 1) change(plans, messages);
    return error_of([&] { check_same_messages(grid, plans, messages); });
  }
  std::string last() const { return fmt::format("rank {}", ranks_ - 1); }
  int ranks_ = 1;
};

TEST_F(OtherPlan, AnotherSizeIsNamedOnAllRanks) {
  const Layout layout{.tensor = ranks_, .micro = 1};
  EXPECT_THAT(
      refusal(layout,
              [](StepPlans&, RankMessages& messages) {
                messages.tensor[3].bytes += 4;
                messages.tensor[5].bytes += 4;
              }),
      AllOf(HasSubstr(last()), HasSubstr("messages of the tensor axis: instruction "),
            HasSubstr(" of stage 0's step (F c0 l3 m0) with "), HasSubstr("bytes on rank 0"),
            HasSubstr("a bug of triax. Report it with job.json")));
}

TEST_F(OtherPlan, OtherPiecesOfTheSameSizeAreToo) {
  EXPECT_THAT(refusal({.data = ranks_, .micro = 1, .zero = 1},
                      [](StepPlans&, RankMessages& messages) { ++messages.data.front().calls; }),
              AllOf(HasSubstr(last()), HasSubstr("messages of the data axis"),
                    HasSubstr("on rank 0, in other pieces")));
}

TEST_F(OtherPlan, AMessageThatOneHasNotIs) {
  EXPECT_THAT(refusal({.data = ranks_, .micro = 1},
                      [](StepPlans&, RankMessages& messages) { messages.data.pop_back(); }),
              AllOf(HasSubstr(last()), HasSubstr("nothing more here, instruction ")));
}

TEST_F(OtherPlan, AnInstructionOfAnyStageIs) {
  EXPECT_THAT(refusal({.data = ranks_, .micro = 1},
                      [](StepPlans& plans, RankMessages&) {
                        std::swap(plans.training[0][0], plans.training[0][1]);
                      }),
              AllOf(HasSubstr(last()), HasSubstr("plans of all stages: instruction 0 of stage 0")));
}

TEST_F(OtherPlan, OtherSizesBetweenStagesAre) {
  if (ranks_ > 4) GTEST_SKIP() << "the model has four layers";
  EXPECT_THAT(refusal({.pipeline = ranks_, .micro = 1},
                      [](StepPlans&, RankMessages& messages) { ++messages.neighbours[0].bytes; }),
              AllOf(HasSubstr(last()), HasSubstr("messages between stages")));
  EXPECT_THAT(refusal({.pipeline = ranks_, .micro = 1},
                      [](StepPlans&, RankMessages& messages) { ++messages.ends.at(0).bytes; }),
              AllOf(HasSubstr(last()), HasSubstr("sums of first and last stage")));
}

// Half of the instructions send.
TEST(SamePlan, OfManyInstructionsIsQuick) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  PlacedConfig config = golden_config({.tensor = ranks, .micro = 1});
  config.batch.accumulation = 10'000;
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, config);
  const StepPlans plans = step_plans(config);
  ASSERT_GT(plans.training[0].size(), 100'000U);
  const std::clock_t begin = std::clock();  // CPU time: other processes may use the cores
  check_same_plan(grid, config, plans);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("milliseconds", std::to_string(1e3 * seconds));
  RecordProperty("instructions", std::to_string(plans.training[0].size()));
  EXPECT_LT(seconds, 1.0) << "some milliseconds are usual";
}

}  // namespace
}  // namespace triax::test
