// SPDX-License-Identifier: Apache-2.0
// Wrong command lines give one error, with the nearest known name, and status 2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/program.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void expect_usage_error(const std::string& arguments, const std::string& line) {
  const Outcome outcome = triax(arguments);
  EXPECT_EQ(outcome.status, 2) << arguments;
  EXPECT_EQ(outcome.text, "triax: " + line + "\n") << arguments;
}

TEST(CommandLine, UnknownNamesComeWithTheNearest) {
  expect_usage_error("trian x.json",
                     "triax has no command trian (nearest: train). See triax --help");
  expect_usage_error("--versoin",
                     "triax has no option --versoin (nearest: --version). See triax --help");
  expect_usage_error("checkpoint inspekt x",
                     "triax checkpoint has no command inspekt (nearest: inspect). See triax "
                     "checkpoint --help");
  expect_usage_error("train x.json --sett=1",
                     "triax train has no option --sett (nearest: --set). See triax train --help");
}

// The case of a batch job's shell, in which MPI would wait for a launcher that does not answer.
TEST(CommandLine, WhatNeedsNoRanksDoesNotStartMpi) {
  const std::string alone = "env PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 " TRIAX_PROGRAM " ";
  for (const char* command : {"--version", "--help", "train --help", "config --reference"})
    EXPECT_EQ(outcome_of(alone + command).status, 0) << command;
  EXPECT_NE(outcome_of(alone + "checkpoint list .").status, 0) << "MPI starts here";
}

TEST(CommandLine, WhatIsMissingOrTooMuchIsNamed) {
  expect_usage_error(
      "",
      "triax needs a command (train, plan, config, evaluate, generate, serve, batch, checkpoint, "
      "adapter, tokenizer, data, report, watch, trace, doctor). See triax --help");
  expect_usage_error("checkpoint",
                     "triax checkpoint needs a command (list, inspect, verify, diff, export, "
                     "import, quantize, average, analyze). See triax checkpoint --help");
  expect_usage_error("train", "JOB.json is required. See triax train --help");
  expect_usage_error("checkpoint diff a", "B is required. See triax checkpoint diff --help");
  expect_usage_error("train a b",
                     "one argument too many for triax train: b. See triax train --help");
  expect_usage_error(
      "config",
      "triax config needs a job file, --reference or --from-axolotl. See triax config --help");
  expect_usage_error("config x.json --markdown",
                     "--markdown requires --reference. See triax config --help");
}

TEST(CommandLine, NumbersOfGenerateAreChecked) {
  for (const char* option :
       {"--temperature nan", "--temperature -1", "--temperature inf", "--temperature warm",
        "--top-k -1", "--top-k 1.5", "--max-tokens 0", "--max-tokens 99999999999", "--seed -5",
        "--seed 1.5", "--seed 99999999999999999999999"}) {
    const Outcome outcome = triax(std::string("generate x --prompt a ") + option);
    EXPECT_EQ(outcome.status, 2) << option;
    EXPECT_THAT(outcome.text,
                AllOf(StartsWith("triax: --"), EndsWith("See triax generate --help\n")));
  }
  EXPECT_THAT(triax("generate x --prompt ''").text, HasSubstr("the prompt is empty"));
  // The options are valid: the error is about the file.
  const Outcome sound = triax("generate x --prompt a --temperature 0 --top-k 5 --seed 0");
  EXPECT_EQ(sound.status, 3);
  EXPECT_THAT(sound.text, HasSubstr("cannot open x"));
}

TEST(CommandLine, SizesOfExportAreChecked) {
  const std::string command = "checkpoint export x --to huggingface out --shard-size=";
  for (const std::string size :
       {"0", "-1GB", "5XB", "GB", "1.5GB", "99999999999999999999GB", "20000PB"})
    expect_usage_error(command + size,
                       "--shard-size: expected a number of bytes from 1 on, as 5000000000, 5GB or "
                       "5GiB, got \"" +
                           size + "\". See triax checkpoint export --help");
  for (const std::string size :
       {"1", "4kB", "4KiB", "'5 gb'", "2T"})  // valid: the error is about the file
    EXPECT_THAT(triax(command + size).text, HasSubstr("cannot open x")) << size;
}

// One of the two options would be ignored silently.
TEST(CommandLine, OptionsThatExcludeEachOtherAreRefused) {
  for (const char* both :
       {"config x.json --reference", "config --reference --ranks 2",
        "config --reference --set run.steps=2", "config --reference --markdown --json"}) {
    const Outcome outcome = triax(both);
    EXPECT_EQ(outcome.status, 2) << both;
    EXPECT_THAT(outcome.text, AllOf(StartsWith("triax: "), HasSubstr(" excludes --"))) << both;
  }
}

TEST(CommandLine, ThreadsThatAreNoNumberAreRefused) {
  for (const char* threads : {"abc", "0", "4x", "2,0", "100000"}) {
    const Outcome outcome = outcome_of(std::string("env OMP_NUM_THREADS=") + threads + " " +
                                       command_of("generate x --prompt a"));
    EXPECT_EQ(outcome.status, 2) << threads;
    EXPECT_THAT(outcome.text, HasSubstr(std::string("OMP_NUM_THREADS is \"") + threads + '"'));
  }
  for (const char* threads : {"2", "2,1", "' 1'"})
    EXPECT_THAT(outcome_of(std::string("env OMP_NUM_THREADS=") + threads + " " +
                           command_of("generate x --prompt a"))
                    .text,
                HasSubstr("cannot open x"));
}

TEST(CommandLine, AFullStandardOutputIsNamed) {
  for (const char* command : {"--help", "--version", "config --reference", "checkpoint --help"}) {
    const Outcome outcome = triax(std::string(command) + " >/dev/full");
    EXPECT_EQ(outcome.status, 3) << command;
    EXPECT_THAT(outcome.text, StartsWith("triax: cannot write to standard output (No space left"));
  }
}

// Processes that end without MPI_Init: MPICH's mpiexec dies of SIGPIPE in some 7% of such runs on a
// busy machine, also in those of true(1).
Outcome triax_without_mpi_on(int ranks, const std::string& command) {
  const int killed_by_sigpipe = 128 + 13;
  Outcome outcome = triax_on(ranks, command);
  for (int again = 0; again < 10 && outcome.status == killed_by_sigpipe; ++again)
    outcome = triax_on(ranks, command);
  return outcome;
}

TEST(CommandLine, IsAnsweredOnceUnderMpiexec) {
  const auto expect_once = [](const std::string& command, int status, const std::string& answer) {
    const Outcome outcome = triax_without_mpi_on(3, command);
    EXPECT_EQ(outcome.status, status) << command;
    const auto first = outcome.text.find(answer);
    ASSERT_NE(first, std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find(answer, first + 1), std::string::npos) << outcome.text;
  };
  expect_once("trian", 2, "triax has no command");
  // The same without MPI.
  expect_once("", 2, "triax needs a command");
  expect_once("--version", 0, "built by");
  expect_once("train --help", 0, "Usage: triax");
}

// The case of srun on a list of jobs, with one file per process.
TEST(CommandLine, ConfigIsForEachProcessThatAsks) {
  const std::string second = "env SLURM_PROCID=1 SLURM_NTASKS=2 " TRIAX_PROGRAM " ";
  EXPECT_THAT(outcome_of(second + "config --reference").text, HasSubstr("run.collective_timeout"));
  const Outcome outcome = outcome_of(second + "config none.json");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("no such job file"));
}

TEST(CommandLine, HelpAndVersionAreNoErrors) {
  for (const char* command :
       {"--help", "train --help", "config --help", "generate --help", "checkpoint inspect --help",
        "checkpoint list --help", "checkpoint verify --help", "checkpoint diff --help",
        "checkpoint export --help", "checkpoint import --help"}) {
    const Outcome outcome = triax(command);
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("Usage: triax"), Not(HasSubstr("not built"))));
  }
  EXPECT_THAT(triax("--version").text,
              AllOf(StartsWith("triax "), HasSubstr(", code for "), HasSubstr("\ncommit "),
                    HasSubstr("\nbuilt by "), HasSubstr("\nMPI: "), HasSubstr("\nHDF5 1.")));
}

}  // namespace
}  // namespace triax::test
