// SPDX-License-Identifier: Apache-2.0
// Signals to a run of one process and under mpiexec: its files, and how it continues.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/commands/program.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SignalledRun : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i) + "\n";
    directory_.file("text.txt", text);
    directory_.file("job.json", R"({
      "model": {"architecture": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 16, "vocab_size": 256},
      "data": {"train": "text.txt", "valid": "text.txt"}, "run": {"steps": 1000000, "eval_interval": 3, "eval_steps": 1}, "train_batch_size": 4,
      "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 10}}})");
  }

  std::string train(const std::string& run, const std::string& more) const {
    return command_of("train " + shell_word(directory_.path("job.json")) +
                      " --set run.directory=" + shell_word(directory_.path(run)) + " " + more);
  }
  // Runs `command`, then `then` once the run has written a line of metrics; $! is the process of
  // `command`.
  Outcome with_a_signal(const std::string& command, const std::string& run,
                        const std::string& then) const {
    return outcome_of_script(
        fmt::format("trap 'kill -9 $p' EXIT; {} & p=$!; until [ -s {}/metrics.jsonl ]; do sleep "
                    "0.05; done; {}; wait $p",
                    command, shell_word(directory_.path(run)), then));
  }
  std::string kill_last_rank(const std::string& run) const {
    return "kill -TERM $(pgrep -f " + shell_word("^" TRIAX_PROGRAM ".*" + directory_.path(run)) +
           " | tail -1)";
  }
  std::int64_t newest_step(const std::string& run) const {
    const auto found = list_checkpoints(directory_.path(run + "/checkpoints"));
    return found.empty() ? -1 : CheckpointReader(found.front()).header().step;
  }
  // Losses, norms, rates and tokens of all steps, which are equal in every run.
  std::vector<std::string> numbers(const std::string& run) const {
    std::vector<std::string> lines;
    std::istringstream text(contents(directory_.path(run + "/metrics.jsonl")));
    for (std::string line; std::getline(text, line);) {
      const auto parsed = nlohmann::json::parse(line);
      std::string kept;
      for (const char* key : {"step", "loss", "grad_norm", "lr", "tokens", "valid_loss"})
        if (parsed.contains(key)) kept += parsed[key].dump() + " ";
      lines.push_back(kept);
    }
    return lines;
  }
  // Expects that the run, resumed for five more steps, has the numbers of an uninterrupted one.
  void expect_goes_on(const std::string& run, const std::string& launch,
                      const std::string& layout) {
    const std::int64_t stopped = newest_step(run);
    ASSERT_GT(stopped, 0);
    const std::string more = fmt::format("{} --set run.steps={}", layout, stopped + 5);
    ASSERT_EQ(outcome_of(launch + train(run, more)).status, 0);
    ASSERT_EQ(outcome_of(launch + train("whole", more)).status, 0);
    EXPECT_EQ(numbers(run), numbers("whole"));
  }
  TempDirectory directory_;
};

TEST_F(SignalledRun, LeavesWithACheckpointAndStatus75AndGoesOnBitForBit) {
  const Outcome stopped = with_a_signal(train("run", ""), "run", "kill -USR1 $p");
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_THAT(stopped.text, AllOf(HasSubstr("stopped by SIGUSR1 after "),
                                  HasSubstr("rerun the same command to continue")));
  expect_goes_on("run", "", "");
}

// The signal arrives during the start: the job file is a pipe that nobody writes to. The mask of
// blocked signals in /proc shows when main() has been reached.
TEST_F(SignalledRun, ASignalAtTheStartEndsItBeforeTheFirstStep) {
  const std::string job = directory_.path("job.json");
  std::filesystem::remove(job);
  ASSERT_EQ(mkfifo(job.c_str(), 0600), 0);
  const Outcome stopped = outcome_of_script(
      fmt::format("{} & p=$!; until grep -q '^SigBlk:.*4a0[01]$' /proc/$p/status || ! kill -0 $p; "
                  "do :; done; kill -TERM $p; wait $p",
                  train("run", "")));
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_THAT(stopped.text, HasSubstr("stopped by SIGTERM before the first step"));
  EXPECT_EQ(newest_step("run"), -1);
}

TEST_F(SignalledRun, ASignalToOneRankStopsAll) {
  const std::string launch = mpiexec(4);
  const Outcome stopped =
      with_a_signal(launch + train("run", "--set parallel.tensor=2"), "run", kill_last_rank("run"));
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_THAT(stopped.text, HasSubstr("stopped by SIGTERM after "));
  expect_goes_on("run", launch, "--set parallel.tensor=2");
}

TEST_F(SignalledRun, Sigusr2WritesACheckpointAndGoesOn) {
  const Outcome stopped =
      with_a_signal(train("run", ""), "run",
                    "kill -USR2 $p; until ls " + shell_word(directory_.path("run/checkpoints")) +
                        "/*.h5; do sleep 0.05; done; kill -TERM $p");
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_EQ(list_checkpoints(directory_.path("run/checkpoints")).size(), 2U) << stopped.text;
}

TEST_F(SignalledRun, ASignalToOneRankBreaksOffAValidation) {
  directory_.file("long.txt", std::string(1000000, 'a'));
  const std::string launch = mpiexec(2);
  const std::string more =
      "--set parallel.tensor=2 --set run.steps=3 --set run.eval_steps=0 --set data.valid=" +
      shell_word(directory_.path("long.txt"));
  const Outcome stopped =
      with_a_signal(launch + train("run", more), "run",
                    "until ls " + shell_word(directory_.path("run/checkpoints")) +
                        "/*.h5; do sleep 0.05; done; " + kill_last_rank("run"));
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_THAT(stopped.text, HasSubstr("stopped by SIGTERM after 3 of 3 steps"));
  EXPECT_EQ(numbers("run").size(), 3U) << "no validation";
  for (const char* run : {"run", "whole"})
    ASSERT_EQ(outcome_of(launch + train(run, more)).status, 0);
  EXPECT_EQ(numbers("run"), numbers("whole"));
}

// A signal delivered to a thread of OpenMP or MPI that does not block it would end the process.
TEST_F(SignalledRun, RanksOfTwoThreadsObeyAllSignals) {
  const std::string two = "OMP_NUM_THREADS=2 ";
  const std::string saved =
      "until ls " + shell_word(directory_.path("run/checkpoints")) + "/*.h5; do sleep 0.05; done; ";
  const Outcome stopped =
      with_a_signal(two + train("run", ""), "run", "kill -USR2 $p; " + saved + "kill -USR1 $p");
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_THAT(stopped.text, HasSubstr("stopped by SIGUSR1 after "));
  EXPECT_EQ(list_checkpoints(directory_.path("run/checkpoints")).size(), 2U) << stopped.text;
  const Outcome ended =
      with_a_signal(two + mpiexec(2) + train("other", ""), "other", kill_last_rank("other"));
  EXPECT_EQ(ended.status, 75) << ended.text;
  EXPECT_THAT(ended.text, HasSubstr("stopped by SIGTERM after "));
}

// The checkpoint holds the state from before the bad steps, and with checkpoint.keep 1 it is the
// only one.
TEST_F(SignalledRun, ACheckpointAmidBadStepsIsOfTheStepBeforeThem) {
  const std::string checkpoints = directory_.path("run/checkpoints");
  const Outcome stopped = with_a_signal(
      train("run",
            "--set scheduler.params.warmup_min_lr=1e20 --set scheduler.params.warmup_max_lr=1e20 "
            "--set run.max_bad_steps=300 --set checkpoint.keep=1"),
      "run",
      "until grep skipped " + shell_word(directory_.path("run/metrics.jsonl")) +
          "; do sleep 0.05; done; kill -USR2 $p; until ls " + shell_word(checkpoints) +
          "/*.h5; do sleep 0.05; done");
  EXPECT_EQ(stopped.status, 3) << stopped.text;
  EXPECT_THAT(stopped.text, HasSubstr("301 steps in a row, from step 2 on"));
  EXPECT_EQ(newest_step("run"), -1) << "the weights of step 1 ended the run";
  EXPECT_TRUE(std::filesystem::exists(checkpoints + "/step-000001.h5.superseded"));
  EXPECT_EQ(find_checkpoints(checkpoints).size(), 1U) << stopped.text;
}

// checkpoint.resume applies to the first run of a batch job only.
TEST_F(SignalledRun, ABatchJobGoesOnFromItsOwnCheckpointWhereverItBegan) {
  ASSERT_EQ(outcome_of(train("base", "--set run.steps=3")).status, 0);
  const std::string base = checkpoint_path(directory_.path("base/checkpoints"), 3);
  const std::string batch = "env TRIAX_JOB_ID=7 ";
  for (const std::string& begin : {base, std::string("never")}) {
    const std::string run = begin == base ? "tuned" : "fresh";
    const std::string resume = " --set checkpoint.resume=" + shell_word(begin);
    const Outcome stopped = with_a_signal(batch + train(run, resume), run, "kill -USR1 $p");
    EXPECT_EQ(stopped.status, 75) << stopped.text;
    EXPECT_THAT(stopped.text, HasSubstr("this batch job continues from there"));
    expect_goes_on(run, batch, resume);
    EXPECT_EQ(find_checkpoints(directory_.path(run + "/checkpoints")).size(), 2U);
    // Another job begins as checkpoint.resume says.
    const Outcome other =
        outcome_of("env TRIAX_JOB_ID=8 " + train(run, resume + " --set run.steps=4"));
    EXPECT_THAT(other.text, HasSubstr("renamed to *.superseded")) << other.status;
  }
}

// The case of a script that trains on 1, 2 and 4 ranks to compare them.
TEST_F(SignalledRun, ASecondCommandOfABatchJobBeginsAsItSays) {
  const std::string batch = "env ENVIRONMENT=BATCH SLURM_JOB_ID=5 ";
  const std::string never = train("run", "--set run.steps=3 --set checkpoint.resume=never");
  ASSERT_EQ(outcome_of(batch + never).status, 0);
  const std::vector<std::string> first = numbers("run");
  const Outcome second = outcome_of(batch + never + " --set run.steps=6");
  EXPECT_EQ(second.status, 0);
  EXPECT_THAT(second.text, AllOf(HasSubstr("moved to"), Not(HasSubstr("resumed from"))));
  EXPECT_EQ(numbers("run").size(), 2 * first.size());
  const Outcome requeued =
      outcome_of(batch + "SLURM_RESTART_COUNT=1 " + never + " --set run.steps=6");
  EXPECT_EQ(requeued.status, 0);
  EXPECT_THAT(requeued.text, AllOf(HasSubstr("nothing to do"), HasSubstr("another run.directory"),
                                   Not(HasSubstr("checkpoint.resume never\n"))));
}

TEST_F(SignalledRun, OutsideOfABatchJobItSaysHowToGoOn) {
  const Outcome stopped =
      with_a_signal(train("run", "--set checkpoint.resume=never"), "run", "kill -USR1 $p");
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_THAT(stopped.text, HasSubstr("rerun with --set checkpoint.resume=auto to continue"));
  expect_goes_on("run", "", "--set checkpoint.resume=auto");
}

TEST_F(SignalledRun, LeavesBeforeItsTimeIsUp) {
  const Outcome stopped =
      outcome_of(train("run", "--set run.time_limit=15s --set run.stop_before_end=8s"));
  EXPECT_EQ(stopped.status, 75) << stopped.text;
  EXPECT_THAT(stopped.text, HasSubstr("stopped by the end of the job's time"));
  EXPECT_GT(newest_step("run"), 0);
  const Outcome endless =
      outcome_of(train("other", "--set run.steps=2 --set run.stop_before_end=2s"));
  EXPECT_EQ(endless.status, 0);
  EXPECT_THAT(endless.text, HasSubstr("run.stop_before_end has no effect"));
}

// Otherwise each start would make one step and be requeued.
TEST_F(SignalledRun, AJobWithoutTimeForAStepIsRefused) {
  const Outcome refused = outcome_of_script("SLURM_JOB_END_TIME=$(($(date +%s) + 170)) " +
                                            train("run", "--set run.stop_before_end=180s"));
  EXPECT_EQ(refused.status, 2) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("run.stop_before_end stops it 180 s earlier"),
                                  HasSubstr("sbatch --time")));
  EXPECT_EQ(newest_step("run"), -1);
}

}  // namespace
}  // namespace triax::test
