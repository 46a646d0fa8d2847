// SPDX-License-Identifier: Apache-2.0
// triax checkpoint list, inspect, verify, diff: equal results as one process and under mpiexec.
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/commands/program.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Outcome three_ranks(const std::string& arguments) {
  return triax_on(3, arguments);
}

class CheckpointCommands : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<CheckpointTensor> tensors = {{"/model/a", DType::f32, {3}},
                                                   {"/model/b", DType::f32, {2, 2}}};
    write_example(a_, tensors, {{1, 2, 3}, {1, 2, 3, 4}});
    write_example(b_, tensors, {{1, 2, 3}, {1, 2, 3, 5}});
  }
  void damage(const std::string& path) const {
    flip_bit(path, hdf5::File(path, hdf5::File::Mode::read).offset("/model/b") + 1, 5);
  }
  TempDirectory dir_;
  std::string a_ = checkpoint_path(dir_.path(), 10);
  std::string b_ = checkpoint_path(dir_.path(), 20);
};

TEST_F(CheckpointCommands, VerifySaysOkOrNamesTheDamage) {
  const Outcome whole = triax("checkpoint verify " + shell_word(a_));
  EXPECT_EQ(whole.status, 0);
  EXPECT_THAT(whole.text, AllOf(StartsWith("ok: " + a_ + ", 28 bytes at "), HasSubstr("GB/s")));
  damage(a_);
  const std::string expected = "damaged: " + a_ + ", 1 block(s)\n/model/b block 0, bytes 0 to 16\n";
  const Outcome damaged = triax("checkpoint verify " + shell_word(a_));
  EXPECT_EQ(damaged.status, 3);
  EXPECT_EQ(damaged.text, expected);
  const Outcome ranks = three_ranks("checkpoint verify " + shell_word(a_));
  EXPECT_EQ(ranks.status, 3);
  EXPECT_THAT(ranks.text, HasSubstr(expected));
  const json out = json::parse(triax("checkpoint verify --json " + shell_word(a_)).text);
  EXPECT_FALSE(out.at("ok"));
  EXPECT_EQ(out.at("bytes"), 28);
  EXPECT_EQ(out.at("damaged").at(0).at("tensor"), "/model/b");
}

TEST_F(CheckpointCommands, VerifyRefusesWhatIsNoCheckpoint) {
  for (const std::string& path : {dir_.path("none.h5"), dir_.file("words.h5", "words")}) {
    const Outcome outcome = triax("checkpoint verify " + shell_word(path));
    EXPECT_EQ(outcome.status, 3) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(StartsWith("triax: "), HasSubstr(path)));
  }
}

// HDF5 reads a missing source file as zeros.
TEST_F(CheckpointCommands, ATensorWhoseSourceIsMissingIsRefusedByName) {
  const std::string path = dir_.path("assembled.h5");
  {
    hdf5::File file(path, hdf5::File::Mode::create);
    CheckpointHeader header = example_header();
    header.format_version = 1;  // without checksums
    write_header(file, header);
    file.create_virtual("/model/a", DType::f32, {3}, {{"gone.h5", 0, 3}});
  }
  for (const std::string& command : std::vector<std::string>{
           "checkpoint verify " + shell_word(path), "checkpoint inspect " + shell_word(path),
           "checkpoint diff " + shell_word(path) + " " + shell_word(a_),
           "checkpoint export " + shell_word(path) + " --to huggingface " +
               shell_word(dir_.path("out"))}) {
    const Outcome outcome = triax(command);
    EXPECT_EQ(outcome.status, 3) << command;
    EXPECT_THAT(outcome.text,
                AllOf(HasSubstr(path + " is not whole"),
                      HasSubstr("3 of the 3 elements of its dataset /model/a"),
                      HasSubstr("its source, dataset /model/a of " + dir_.path("gone.h5"))))
        << command;
  }
  EXPECT_THAT(three_ranks("checkpoint inspect " + shell_word(path)).text,
              HasSubstr("dataset /model/a of " + dir_.path("gone.h5")));
}

// Each process would act as rank 0.
TEST_F(CheckpointCommands, ProcessesThatDoNotSeeEachOtherAreRefused) {
  for (const std::string& command : std::vector<std::string>{
           "verify " + shell_word(a_), "inspect " + shell_word(a_),
           "export " + shell_word(a_) + " --to huggingface " + shell_word(dir_.path("out"))}) {
    const Outcome alone =
        outcome_of("env SLURM_STEP_NUM_TASKS=2 " + command_of("checkpoint " + command));
    EXPECT_EQ(alone.status, 2) << command;
    EXPECT_THAT(alone.text, AllOf(HasSubstr("srun has 2 processes"), HasSubstr("--mpi=TYPE"),
                                  HasSubstr("For one process: srun --ntasks=1 triax")));
  }
}

// Works in the shell of an allocation; of processes that srun started without MPI, the first one
// lists.
TEST_F(CheckpointCommands, ListNeedsNoOtherProcess) {
  const std::string list = command_of("checkpoint list " + shell_word(dir_.path()));
  const Outcome shell = outcome_of("env SLURM_NTASKS=8 " + list);
  EXPECT_EQ(shell.status, 0) << shell.text;
  EXPECT_THAT(shell.text, HasSubstr("step-000010.h5"));
  const Outcome second = outcome_of("env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 " + list);
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.text, "");
}

TEST_F(CheckpointCommands, ListHasARowForEach) {
  const json out = json::parse(triax("checkpoint list --json " + shell_word(dir_.path())).text);
  ASSERT_EQ(out.at("checkpoints").size(), 2U);
  EXPECT_EQ(out["checkpoints"][1].at("file"), b_);
  EXPECT_THAT(triax("checkpoint list " + shell_word(dir_.path())).text,
              HasSubstr("opens       step-000010.h5"));
  EXPECT_EQ(triax("checkpoint list " + shell_word(dir_.path("none"))).status, 3);
  EXPECT_EQ(triax("checkpoint list " + shell_word(dir_.path())).status, 0);
  std::filesystem::resize_file(a_, 700);
  const Outcome damaged = triax("checkpoint list " + shell_word(dir_.path()));
  EXPECT_EQ(damaged.status, 3);
  EXPECT_THAT(damaged.text, HasSubstr("damaged     step-"));
}

TEST_F(CheckpointCommands, DiffsStatusSaysWhetherTheyAreEqual) {
  EXPECT_EQ(triax("checkpoint diff " + shell_word(a_) + " " + shell_word(a_)).status, 0);
  const Outcome different = triax("checkpoint diff " + shell_word(a_) + " " + shell_word(b_));
  EXPECT_EQ(different.status, 3);
  EXPECT_THAT(different.text, AllOf(HasSubstr("/model/b"), HasSubstr("1 of 2 tensors")));
  EXPECT_THAT(three_ranks("checkpoint diff " + shell_word(a_) + " " + shell_word(b_)).text,
              HasSubstr(different.text));
  EXPECT_EQ(
      json::parse(triax("checkpoint diff --json " + shell_word(a_) + " " + shell_word(b_)).text)
          .at("tensors")
          .at(0)
          .at("max_absolute"),
      1.0);
}

TEST_F(CheckpointCommands, DiffSaysWhichFileIsDamaged) {
  damage(b_);
  const std::string files[] = {shell_word(a_) + " " + shell_word(b_),
                               shell_word(b_) + " " + shell_word(a_),
                               shell_word(b_) + " " + shell_word(b_)};
  for (const std::string& both : files) {
    const Outcome outcome = triax("checkpoint diff " + both);
    EXPECT_EQ(outcome.status, 3) << both;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("2 tensors in both"), HasSubstr(b_ + " is damaged"),
                                    HasSubstr("/model/b block 0")));
  }
  EXPECT_THAT(three_ranks("checkpoint diff " + shell_word(a_) + " " + shell_word(b_)).text,
              HasSubstr(b_ + " is damaged"));
}

TEST_F(CheckpointCommands, AttributesMayBeLeftOut) {
  CheckpointHeader header = example_header();
  header.step = 99;
  write_example(b_, {{"/model/a", DType::f32, {3}}, {"/model/b", DType::f32, {2, 2}}},
                {{1, 2, 3}, {1, 2, 3, 4}}, header);
  EXPECT_EQ(triax("checkpoint diff " + shell_word(a_) + " " + shell_word(b_)).status, 3);
  EXPECT_EQ(triax("checkpoint diff --tensors " + shell_word(a_) + " " + shell_word(b_)).status, 0);
}

TEST_F(CheckpointCommands, InspectIsTheSameUnderMpiexec) {
  const Outcome alone = triax("checkpoint inspect --json " + shell_word(a_));
  EXPECT_EQ(alone.status, 0);
  EXPECT_EQ(json::parse(alone.text).at("parameters"), 7);
  EXPECT_THAT(three_ranks("checkpoint inspect --json " + shell_word(a_)).text,
              HasSubstr(alone.text));
}

TEST_F(CheckpointCommands, InspectShowsWhatIsThereAndThatItIsDamaged) {
  damage(a_);
  for (const Outcome& outcome : {triax("checkpoint inspect " + shell_word(a_)),
                                 three_ranks("checkpoint inspect " + shell_word(a_))}) {
    EXPECT_EQ(outcome.status, 3);
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("l2 norm"), HasSubstr("is damaged"),
                                    HasSubstr("/model/b block 0")));
  }
}

}  // namespace
}  // namespace triax::test
