// SPDX-License-Identifier: Apache-2.0
#include "src/launch/requeue.hpp"

#include <map>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "src/launch/run_directory.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string name_in(std::map<std::string, std::string> variables) {
  return batch_job({[&](const char* name) { return variables[name]; }, {}});
}

TEST(BatchJob, IsWhatSlurmCallsItOrTheUser) {
  EXPECT_EQ(name_in({{"ENVIRONMENT", "BATCH"}, {"SLURM_JOB_ID", "42"}}), "42");
  EXPECT_EQ(name_in({{"ENVIRONMENT", "BATCH"},
                     {"SLURM_JOB_ID", "45"},
                     {"SLURM_ARRAY_JOB_ID", "42"},
                     {"SLURM_ARRAY_TASK_ID", "3"}}),
            "42_3");
  EXPECT_EQ(name_in({{"TRIAX_JOB_ID", "7"}, {"SLURM_JOB_ID", "42"}}), "7");
}

TEST(BatchJob, AnAttemptIsOneTimeThatSlurmRunsIt) {
  const auto attempt_in = [](std::map<std::string, std::string> variables) {
    return batch_attempt({[&](const char* name) { return variables[name]; }, {}});
  };
  EXPECT_EQ(attempt_in({{"SLURM_JOB_ID", "42"}}), "42.0");
  EXPECT_EQ(attempt_in({{"SLURM_JOB_ID", "42"}, {"SLURM_RESTART_COUNT", "3"}}), "42.3");
  EXPECT_EQ(attempt_in({{"TRIAX_JOB_ID", "7"}}), "") << "which attempt it is nobody knows";
}

TEST(BatchJob, IsNoneWhereAUserTypesCommands) {
  EXPECT_EQ(name_in({}), "");
  EXPECT_EQ(name_in({{"SLURM_JOB_ID", "42"}}), "") << "salloc";
}

// A run of batch job 42 that began with checkpoint.resume `began` and left two checkpoints.
class RunAgain : public testing::Test {
 protected:
  LoadedJob job(const std::string& resume) const {
    auto job = golden_job(read_golden("qwen2-odd"), {.micro = 2});
    job["run"]["directory"] = directory_.path("run");
    job["checkpoint"] = {{"resume", resume}};
    return load(job, 1);
  }
  void begin(const std::string& resume, std::int64_t step) const {
    prepare_run_directory(job(resume), {"node1"}, "42", step);
  }
  void leave_checkpoint(int step) const {
    std::filesystem::create_directories(directory_.path("run/checkpoints"));
    directory_.file(checkpoint_path("run/checkpoints", step), "");
  }
  std::string resume_of(const std::string& name, const std::string& resume,
                        const std::string& attempt = "42.0") {
    Config config = job(resume).config;
    apply_requeue_resume(grid_, name, attempt, config);
    return config.checkpoint.resume;
  }
  void end(const std::string& name, const std::string& attempt, bool made_steps = true) const {
    record_done(directory_.path("run"), name, attempt, made_steps);
  }
  TempDirectory directory_;
  ProcessGrid grid_{MPI_COMM_SELF, {}};
};

TEST_F(RunAgain, GoesOnFromItsOwnCheckpoints) {
  begin("never", 0);
  EXPECT_EQ(resume_of("42", "never"), "never") << "there is none yet";
  leave_checkpoint(5);
  EXPECT_EQ(resume_of("42", "never"), "auto");
  EXPECT_EQ(resume_of("42", "must"), "must");
}

// The case of a script that trains several times, to compare.
TEST_F(RunAgain, ARunThatIsDoneIsNotRunAgainInTheSameAttempt) {
  begin("never", 0);
  leave_checkpoint(5);
  end("43", "43.0");
  EXPECT_EQ(resume_of("42", "never"), "auto") << "another job's end is not this one's";
  end("42", "42.0");
  EXPECT_EQ(recorded_start(directory_.path("run"))->done_in, "42.0");
  EXPECT_EQ(resume_of("42", "never"), "never");
  EXPECT_EQ(resume_of("42", "never", "42.1"), "auto") << "requeued";
  EXPECT_EQ(resume_of("42", "never", "45.0"), "auto") << "the next segment of a chain";
  end("42", "42.1", false);
  EXPECT_EQ(resume_of("42", "never", "42.1"), "never")
      << "had nothing to do behind one that is done";
  begin("never", 0);
  EXPECT_EQ(resume_of("42", "never"), "auto") << "a new run is not done";
  end("42", "42.2", false);
  EXPECT_EQ(resume_of("42", "never", "42.2"), "auto")
      << "nothing to do behind one that was cut short";
}

TEST_F(RunAgain, OutsideOfSlurmADoneRunIsRunAgain) {
  begin("never", 0);
  leave_checkpoint(5);
  end("42", "");
  EXPECT_EQ(resume_of("42", "never", ""), "auto");
}

TEST_F(RunAgain, AnotherJobBeginsAsItSays) {
  begin("never", 0);
  leave_checkpoint(5);
  EXPECT_EQ(resume_of("43", "never"), "never");
  EXPECT_EQ(resume_of("", "never"), "never") << "no batch job";
  prepare_run_directory(job("never"), {"node1"});
  EXPECT_EQ(resume_of("42", "never"), "never") << "another run came between";
}

TEST_F(RunAgain, AnotherBeginningIsAnotherRun) {
  const std::string file = directory_.file("gpt2.h5", "");
  begin("never", 0);
  leave_checkpoint(5);
  EXPECT_EQ(resume_of("42", file), file);
}

// Checkpoints up to the step of the file that the run began from are older than the run.
TEST_F(RunAgain, OlderCheckpointsAreNotItsOwn) {
  const std::string file = directory_.file("base.h5", "");
  leave_checkpoint(5);
  begin(file, 10);
  EXPECT_EQ(resume_of("42", file), file);
  leave_checkpoint(15);
  EXPECT_EQ(resume_of("42", file), "auto");
  begin(file, 15);  // as a run that continues from there does
  EXPECT_EQ(recorded_start(directory_.path("run"))->step, 10);
  EXPECT_EQ(resume_of("42", std::filesystem::relative(file).string()), "auto");
  EXPECT_EQ(resume_of("42", file), "auto");
}

TEST_F(RunAgain, WithoutARecordItBegins) {
  leave_checkpoint(5);
  EXPECT_EQ(resume_of("42", "never"), "never");
  directory_.file("run/job.json", "{\"triax\": 3");
  EXPECT_EQ(resume_of("42", "never"), "never");
}

TEST(WarningOfLoss, IsForBatchJobsOfManyStepsWithoutAnInterval) {
  Config config;
  config.run.steps = 1000;
  EXPECT_THAT(warning_of_loss(config, 20, "42"),
              AllOf(HasSubstr("checkpoint.interval is 0"), HasSubstr("since step 20")));
  EXPECT_EQ(warning_of_loss(config, 20, ""), "");
  EXPECT_EQ(warning_of_loss(config, 995, "42"), "");
  config.checkpoint.interval = 50;
  EXPECT_EQ(warning_of_loss(config, 20, "42"), "");
}

TEST(WayOn, NamesWhatTheCommandNeeds) {
  CheckpointConfig checkpoint{"", 0, 3, "auto", true};
  EXPECT_EQ(resume_hint(checkpoint, "42"), "rerun the same command to continue from there");
  checkpoint.resume = "never";
  EXPECT_THAT(resume_hint(checkpoint, ""), HasSubstr("rerun with --set checkpoint.resume=auto"));
  EXPECT_THAT(resume_hint(checkpoint, "42"),
              AllOf(HasSubstr("this batch job continues"), HasSubstr("checkpoint.resume=auto")));
}

}  // namespace
}  // namespace triax::test
