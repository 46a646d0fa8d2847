// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/progress_texts.hpp"

#include "src/trainer/start_up.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Steps are counted from 1, as in the progress lines; the board counts them from 0.
TEST(ProgressTexts, NameStartUpStepsAndPlanPositionsInStallReports) {
  const PlacedConfig config = golden_config({.data = world_size()});
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, config);
  const StepPlans plans = step_plans(config);
  ProgressBoard& board = grid.board();
  const WaitScope waiting(&board);
  {
    const ProgressTexts texts(grid, plans, start_text);
    EXPECT_THAT(board.report(1.0),
                AllOf(HasSubstr(", at start-up"), Not(HasSubstr(", at start-up ("))));
    board.set_position(1);
    EXPECT_THAT(board.report(1.0), HasSubstr(fmt::format(", at {}", start_text(1))));
    board.set_step(2);
    board.set_activity(static_cast<int>(Activity::between_steps));
    EXPECT_THAT(board.report(1.0), HasSubstr(", at step 3, between plans"));
    board.set_activity(static_cast<int>(Activity::training));
    EXPECT_THAT(board.report(1.0), HasSubstr(fmt::format(", at step 3, plan position 1 ({})",
                                                         text_of(plans.training[0][1]))));
  }
  EXPECT_THAT(board.report(1.0), Not(HasSubstr("step 3")));
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace triax::test
