// SPDX-License-Identifier: Apache-2.0
// The start of a run on several ranks, one of which fails or hangs.
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Three ranks, one of which hangs when it opens its job file, as on a file server that is gone.
class Start : public SmallJob {
 protected:
  void SetUp() override {
    SmallJob::SetUp();
    const std::string job = shell_word(directory_.path("job.json"));
    directory_.file(
        "rank.sh",
        "rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; if [ $rank = $STUCK ]; then export "
        "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 FAIL_KIND=open FAIL_NTH=1 "
        "FAIL_HOLD=/no/such/file FAIL_BELOW=" +
            job + " LD_PRELOAD=" + shell_word(FAIL_NTH) + "; fi; echo $$ > " +
            shell_word(directory_.path("pid.")) + "$rank; exec " +
            command_of("train " + job + " \"$@\""));
  }
  std::string launch(int stuck, const std::string& more) const {
    return fmt::format("env STUCK={} OMP_NUM_THREADS=1 {}sh {} --set train_batch_size=3 {}", stuck,
                       mpiexec(3), shell_word(directory_.path("rank.sh")), more);
  }
};

TEST_F(Start, ARankThatNeverComesIsNamed) {
  for (const int stuck : {2, 0}) {
    const Outcome outcome = outcome_of(launch(stuck, "--set run.collective_timeout=3s"));
    EXPECT_EQ(outcome.status, 3) << outcome.text;
    EXPECT_THAT(
        outcome.text,
        AllOf(HasSubstr("triax: 1 of 3 ranks"), HasSubstr("did not come to the start"),
              HasSubstr(fmt::format("within 3 s (run.collective_timeout): rank {} on ", stuck)),
              Not(HasSubstr("stopped by"))));
  }
}

// A plan on several ranks compares them as a run does.
TEST_F(Start, ARankThatNeverComesToAPlanIsNamed) {
  const Outcome outcome = outcome_of(launch(2, "--dry-run --set run.collective_timeout=3s"));
  EXPECT_EQ(outcome.status, 3) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("within 3 s (run.collective_timeout): rank 2 on "));
}

TEST_F(Start, RanksThatPlanOtherJobsAreRefused) {
  const std::string script = directory_.file(
      "other.sh", "rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; exec " +
                      command_of("train --dry-run " + shell_word(directory_.path("job.json")) +
                                 " --set train_batch_size=2 --set run.seed=$rank"));
  const Outcome outcome =
      outcome_of("env OMP_NUM_THREADS=1 " + mpiexec(2) + "sh " + shell_word(script));
  EXPECT_EQ(outcome.status, 3) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("job.run.seed is 1 here, 0 on rank 0"));
}

// Both stages get a block, whatever the speeds of two ranks on one machine are.
TEST_F(Start, StagesAreSharedOutBySpeed) {
  const auto losses = [&](const std::string& name, const std::string& layers) {
    const Outcome outcome = outcome_of(
        "env OMP_NUM_THREADS=1 " + mpiexec(2) +
        command_of("train " + shell_word(directory_.path("job.json")) +
                   " --set model.n_layer=2 --set parallel.pipeline=2 --set run.directory=" +
                   shell_word(directory_.path(name)) + layers));
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    if (!layers.empty()) {
      EXPECT_THAT(outcome.text, AllOf(HasSubstr("parallel.stage_layers by-speed: stages of speed "),
                                      HasSubstr(" have 1, 1 blocks")));
    }
    std::vector<std::string> found;
    std::istringstream lines(contents(directory_.path(name + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);)
      if (const auto json = nlohmann::json::parse(line); json.contains("loss"))
        found.push_back(json["loss"].dump());
    return found;
  };
  const auto even = losses("even", "");
  EXPECT_EQ(even.size(), 2U);
  EXPECT_EQ(losses("speed", " --set parallel.stage_layers=by-speed"), even);
}

// One rank has no job file, as on a node with a missing file system. The error comes at once, and
// once.
TEST_F(Start, ARankThatCannotReadItsJobIsHeardByAll) {
  const std::string script = directory_.file(
      "one.sh",
      "rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; job=" + shell_word(directory_.path("job.json")) +
          "; if [ $rank = $WRONG ]; then job=none.json; fi; exec " +
          command_of("train \"$job\" --set train_batch_size=3"));
  for (const int wrong : {0, 1}) {
    const Outcome outcome = outcome_of(fmt::format("env WRONG={} OMP_NUM_THREADS=1 {}sh {}", wrong,
                                                   mpiexec(3), shell_word(script)));
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    EXPECT_THAT(outcome.text, testing::StartsWith(fmt::format("triax: rank {} on ", wrong)));
    EXPECT_THAT(outcome.text, testing::EndsWith(": none.json: no such job file\n"));
  }
}

// Only one rank would get what is written to it.
TEST_F(Start, AJobFileThatIsAPipeIsRefused) {
  const std::string pipe = directory_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* plan : {"", " --dry-run"}) {
    const Outcome outcome = outcome_of("env OMP_NUM_THREADS=1 " + mpiexec(2) +
                                       command_of("train " + shell_word(pipe) + plan));
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    EXPECT_THAT(outcome.text,
                AllOf(HasSubstr("pipe is a pipe or a device (each of the 2 ranks reads the job "
                                "file). Write the job to a file")));
  }
}

// Signals the rank that waits, then the rank that is waited for.
TEST_F(Start, ASignalEndsItMeanwhile) {
  for (const int signalled : {0, 2}) {
    std::filesystem::remove(directory_.path(fmt::format("pid.{}", signalled)));
    const std::string pid = shell_word(directory_.path(fmt::format("pid.{}", signalled)));
    const Outcome outcome = outcome_of_script(
        fmt::format("{} & p=$!; until [ -s {} ] && grep -q '^SigBlk:.*4a0[01]$' /proc/$(cat "
                    "{})/status; do sleep 0.05; done; sleep 1; kill -TERM $(cat {}); wait $p",
                    launch(2, ""), pid, pid, pid));
    EXPECT_EQ(outcome.status, 75) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("stopped by SIGTERM before the first step"));
  }
}

// A start that hangs in MPI_Init, which waits for a process that is not triax. The launcher ends
// that process by SIGKILL and returns its own status.
class StartOfMpi : public Start {
 protected:
  // `during`: shell commands that run while rank 0 (process $pid) waits.
  Outcome waiting(const std::string& environment, const std::string& during) const {
    const std::string status = shell_word(directory_.path("status"));
    const std::string wrapper = directory_.file(
        "wrapper.sh", "sh " + shell_word(directory_.path("rank.sh")) +
                          "; s=$?; [ ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} != 0 ] || echo $s > " +
                          status + "; exit $s");
    const Outcome outcome = outcome_of_script(fmt::format(
        "env STUCK=none OMP_NUM_THREADS=1 {} {}sh {} : -n 1 sleep 1000 & p=$!; {}; wait $p",
        environment, mpiexec(2), shell_word(wrapper), during));
    return {std::stoi(contents(directory_.path("status"))), outcome.text};
  }
};

TEST_F(StartOfMpi, IsEndedByASignal) {
  const std::string pid = shell_word(directory_.path("pid.0"));
  const Outcome outcome =
      waiting("", fmt::format("until [ -s {0} ] && grep -Eq '^SigBlk:.*[4-7c-f]...$' /proc/$(cat "
                              "{0})/status; do sleep 0.05; done; kill -TERM $(cat {0})",
                              pid));
  EXPECT_EQ(outcome.status, 75) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("stopped by SIGTERM before the first step"));
}

TEST_F(StartOfMpi, IsWaitedForSoLong) {
  const Outcome outcome = waiting("TRIAX_START_TIMEOUT=1", "true");
  EXPECT_EQ(outcome.status, 3) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("triax: process 0 of 3, on "),
                                  HasSubstr("waited 1 s in MPI_Init for the others")));
}

TEST_F(Start, AWrongLimitOfItIsRefused) {
  for (const std::string limit : {"soon", "inf", "0", "1e10", "nan", "5 s"}) {
    const Outcome outcome = outcome_of("env TRIAX_START_TIMEOUT=" + shell_word(limit) + ' ' +
                                       command_of("train none.json"));
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.text, "triax: TRIAX_START_TIMEOUT=" + limit +
                                " (it is a number of seconds, from 0.1 to 1e9). Set it to 600, or "
                                "unset it\n");
  }
}

// The case of a directory that each node has separately under one name.
TEST_F(Start, ADirectoryThatRanksDoNotShareIsRefused) {
  const std::string script = directory_.file(
      "own.sh", "cd \"$(mktemp -d " + shell_word(directory_.path("own-XXXXXX")) + ")\" && exec " +
                    command_of("train " + shell_word(directory_.path("job.json")) +
                               " --set run.directory=own"));
  const Outcome outcome =
      outcome_of("env OMP_NUM_THREADS=1 " + mpiexec(2) + "sh " + shell_word(script));
  EXPECT_EQ(outcome.status, 2) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("rank 1: run.directory is not the same directory"),
                                  HasSubstr("Set run.directory to")));
}

}  // namespace
}  // namespace triax::test
