// SPDX-License-Identifier: Apache-2.0
#include "src/launch/job_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>

#include "kernels/base/check.hpp"

namespace triax::test {
namespace {

using Clock = std::chrono::system_clock;
using std::chrono::seconds;

JobSurroundings around(std::map<std::string, std::string> variables, std::string squeue = "") {
  return {[variables = std::move(variables)](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::string() : found->second;
          },
          [squeue = std::move(squeue)](const std::string& command) {
            // A run and its child processes block SIGTERM.
            EXPECT_THAT(command, testing::StartsWith("timeout -s KILL "));
            EXPECT_THAT(command, testing::EndsWith("--jobs=42"));
            return squeue;
          }};
}

TEST(JobEnd, IsWhatSlurmOrTheScriptSays) {
  EXPECT_EQ(job_end(around({{"SLURM_JOB_END_TIME", "1700000000"}, {"SLURM_JOB_ID", "42"}})),
            Clock::from_time_t(1700000000));
}

TEST(JobEnd, ElseSqueueIsAsked) {
  const auto end = job_end(around({{"SLURM_JOB_ID", "42"}}, "2026-11-21T22:50:28\n"));
  ASSERT_TRUE(end.has_value());
  const std::time_t time = Clock::to_time_t(*end);
  std::tm local{};
  localtime_r(&time, &local);
  EXPECT_EQ(local.tm_year, 126);
  EXPECT_EQ(local.tm_hour, 22);
  EXPECT_EQ(local.tm_sec, 28);
}

TEST(JobEnd, ATaskOfAnArrayAsksForItself) {
  const auto asked = [](std::map<std::string, std::string> variables) {
    JobSurroundings slurm = around(std::move(variables));
    std::string command;
    slurm.output_of = [&](const std::string& text) {
      command = text;
      return std::string();
    };
    EXPECT_FALSE(job_end(slurm).has_value());
    return command;
  };
  EXPECT_THAT(
      asked({{"SLURM_JOB_ID", "40"}, {"SLURM_ARRAY_JOB_ID", "40"}, {"SLURM_ARRAY_TASK_ID", "3"}}),
      testing::EndsWith("--jobs=40_3"));
  EXPECT_THAT(
      asked(
          {{"SLURM_JOB_ID", "41"}, {"SLURM_ARRAY_JOB_ID", "40; rm"}, {"SLURM_ARRAY_TASK_ID", "3"}}),
      testing::EndsWith("--jobs=41"));
}

TEST(JobEnd, IsUnknownOutsideSlurmAndWithoutALimit) {
  EXPECT_FALSE(job_end(around({})).has_value());
  EXPECT_FALSE(job_end(around({{"SLURM_JOB_ID", "42"}}, "NONE\n")).has_value());
  EXPECT_FALSE(job_end(around({{"SLURM_JOB_ID", "42"}}, "")).has_value()) << "no squeue here";
  EXPECT_FALSE(job_end(around({{"SLURM_JOB_ID", "42; rm -r ."}}, "NONE\n")).has_value());
}

TEST(JobEnd, TheRunLeavesBeforeTheSoonerEnd) {
  RunConfig run;
  const Clock::time_point start = Clock::from_time_t(1000);
  const auto slurm = around({{"SLURM_JOB_END_TIME", "5000"}});
  EXPECT_FALSE(leaving_time(run, start, slurm).has_value()) << "not asked for";
  run.stop_before_end = 120.0;
  EXPECT_EQ(leaving_time(run, start, slurm), Clock::from_time_t(4880));
  EXPECT_FALSE(leaving_time(run, start, around({})).has_value());
  run.time_limit = 600.0;
  EXPECT_EQ(leaving_time(run, start, slurm), Clock::from_time_t(1480));
  EXPECT_EQ(leaving_time(run, start, around({})), Clock::from_time_t(1480));
}

TEST(JobEnd, WithoutTimeForAStepTheRunIsRefused) {
  RunConfig run;
  run.stop_before_end = 180.0;
  EXPECT_NO_THROW(check_time_left(run, 0.5));
  for (const auto& [left, text] : {std::pair(-5.0,
                                             "no time is left for a step (the job ends 175 s after "
                                             "triax started, and run.stop_before_end stops it "
                                             "180 s earlier)"),
                                   std::pair(-500.0, "the job ends 0 s after triax started")}) {
    try {
      check_time_left(run, left);
      FAIL() << left;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  }
}

}  // namespace
}  // namespace triax::test
