// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/mpi_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <map>

#include "src/comm/launch/launcher.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

// Exit status of `command`; 124 if it runs longer than 60 s, -1 if the shell dies by a signal.
int status_of(const std::string& command) {
  const int status = std::system(("timeout 60 " + command + " > /dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const std::string probe = SESSION_PROBE;
const std::string three_ranks = MPIEXEC " 3 " SESSION_PROBE;

TEST(MpiSession, RunsAsAPlainProcessAndUnderMpiexec) {
  EXPECT_EQ(status_of(probe), 0);
  EXPECT_EQ(status_of(three_ranks), 0);
}

TEST(MpiSession, AbortEndsEveryRankWithTheStatus) {
  EXPECT_EQ(status_of(probe + " abort"), 3);
  EXPECT_EQ(status_of(three_ranks + " abort"), 3);
}

TEST(MpiSession, AnExceptionOnOneRankEndsTheJob) {
  EXPECT_EQ(status_of(probe + " escape"), 3);
  EXPECT_EQ(status_of(three_ranks + " escape"), 3);
}

// After an error, main() asks whether all ranks met it. They then leave in order, also if the
// others have ended without an error; if others wait for a message, the job ends.
TEST(MpiSession, RanksLeaveTogetherOrTheJobEnds) {
  EXPECT_EQ(status_of(three_ranks + " all-fail"), 3);
  EXPECT_EQ(status_of(three_ranks + " last-fails-at-the-end"), 3);
  EXPECT_EQ(status_of(three_ranks + " last-fails-alone"), 3);
}

// Ranks that have ended do not answer, which counts as yes.
TEST(MpiSession, AllHearWhatAnyRankSays) {
  for (const std::string& ranks : {probe, three_ranks}) {
    EXPECT_EQ(status_of(ranks + " one-is-asked"), 4);
    EXPECT_EQ(status_of(ranks + " none-is-asked"), 4);
  }
  EXPECT_EQ(status_of(three_ranks + " last-asks-at-the-end"), 4);
}

TEST(MpiSession, FindsRanksThatDidNotMeet) {
  EXPECT_EQ(status_of("env SLURM_NTASKS=4 " + probe + " launch"), 2);
  EXPECT_EQ(status_of("env SLURM_NTASKS=4 SLURM_PROCID=3 " + probe + " launch"), 2);
  EXPECT_EQ(status_of("env SLURM_NTASKS=3 " + three_ranks + " launch"), 0);
}

using Variables = std::map<std::string, std::string>;

Environment environment(const Variables& variables) {
  return [variables](const char* name) {
    const auto variable = variables.find(name);
    return variable != variables.end() ? variable->second : "";
  };
}

std::optional<LaunchProblem> found(int size, const Variables& variables) {
  return launch_problem(size, environment(variables));
}

TEST(LaunchedProcess, IsOfTheInnermostLauncher) {
  const auto process = [](const Variables& variables) {
    const LaunchedProcess found = launched_process(environment(variables));
    return std::pair(found.number, found.count);
  };
  EXPECT_EQ(process({}), std::pair(0, 1));
  EXPECT_EQ(process({{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}}), std::pair(3, 4));
  EXPECT_EQ(process({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "5"}, {"PMI_SIZE", "1"}}),
            std::pair(0, 1));
  EXPECT_EQ(process({{"SLURM_NTASKS", "8"}}), std::pair(0, 8)) << "the shell of a batch job";
}

TEST(LaunchProblem, NamesTheRemedyOfEachLauncher) {
  const auto slurm = found(1, {{"SLURM_NTASKS", "8"}});
  ASSERT_TRUE(slurm);
  EXPECT_THAT(slurm->what_to_do, AllOf(HasSubstr("srun --mpi=TYPE"), HasSubstr("SLURM_MPI_TYPE")));
  EXPECT_THAT(slurm->why, HasSubstr("SLURM_NTASKS=8"));
  const auto open_mpi = found(1, {{"OMPI_COMM_WORLD_SIZE", "2"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_THAT(open_mpi->what_to_do, HasSubstr("mpiexec"));
  const auto pmi = found(1, {{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  ASSERT_TRUE(pmi);
  EXPECT_THAT(pmi->what_to_do, HasSubstr("srun --mpi=TYPE"));
}

// Only one of thousands of processes reports the problem.
TEST(LaunchProblem, KnowsWhichOfTheProcessesThisIs) {
  EXPECT_EQ(found(1, {{"SLURM_NTASKS", "8"}})->process, 0);
  EXPECT_EQ(found(1, {{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "3"}})->process, 3);
  EXPECT_EQ(
      found(1,
            {{"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "5"}, {"SLURM_PROCID", "1"}})
          ->process,
      5);
}

TEST(LaunchProblem, LeavesWholeJobsAndSingleProcessesAlone) {
  EXPECT_FALSE(found(8, {{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "8"}}));
  EXPECT_FALSE(found(1, {}));
  EXPECT_FALSE(found(1, {{"SLURM_NTASKS", "1"}}));
  EXPECT_FALSE(found(1, {{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  EXPECT_FALSE(found(1, {{"SLURM_NTASKS", "8"}, {"PMI_SIZE", "1"}}));
}

}  // namespace
}  // namespace triax
