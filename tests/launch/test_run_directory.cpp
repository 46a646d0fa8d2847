// SPDX-License-Identifier: Apache-2.0
#include "src/launch/run_directory.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

#include "src/version/build_facts.hpp"

#include "io/checkpoint/checkpoint_directory.hpp"
#include "src/launch/own_checkpoints.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

LoadedJob job_in(const std::string& directory) {
  auto job = golden_job(read_golden("qwen2-odd"), {.micro = 2});
  job["run"]["directory"] = directory;
  return load(job, 1);
}

TEST(RunDirectory, HoldsTheJobAsResolved) {
  const TempDirectory directory;
  const LoadedJob job = job_in(directory.path("a/b"));
  prepare_run_directory(job, {"node1", "node2"});
  const auto written = nlohmann::json::parse(contents(directory.path("a/b/job.json")));
  EXPECT_EQ(written["triax"]["hosts"], nlohmann::json({"node1", "node2"}));
  EXPECT_EQ(written["triax"]["grid"],
            nlohmann::json({{"data", 1}, {"pipeline", 1}, {"tensor", 1}}));
  EXPECT_FALSE(written["triax"]["version"].get<std::string>().empty());
  EXPECT_EQ(written["triax"]["commit"], commit());
  EXPECT_EQ(written["train_micro_batch_size_per_gpu"], 2);
}

TEST(RunDirectory, ItsJobIsTheSameJob) {
  const TempDirectory directory;
  const LoadedJob job = job_in(directory.path("run"));
  prepare_run_directory(job, {"node1"});
  EXPECT_EQ(load_job(directory.path("run/job.json"), {}, 1).resolved, job.resolved);
}

TEST(RunDirectory, WarnsOfANameThatItsJobCannotHold) {
  const TempDirectory directory;
  const auto warnings = [&](const std::string& name) {
    LoadedJob job = job_in(directory.path("run"));
    job.config.run.directory = directory.path(name);
    std::ostringstream text;
    const auto usual = spdlog::default_logger();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::ostream_sink_st>(text)));
    prepare_run_directory(job, {});
    spdlog::set_default_logger(usual);
    return text.str();
  };
  EXPECT_EQ(warnings("r\xc3\xa9sum\xc3\xa9"), "");
  EXPECT_THAT(warnings("r\xe9sum\xe9"),
              AllOf(HasSubstr("the path " + directory.path("r\\xe9sum\\xe9") + " is not UTF-8"),
                    HasSubstr("triax train " + directory.path("r\\xe9sum\\xe9/job.json"))));
}

TEST(RunDirectory, OneThatCannotBeMadeIsNamed) {
  const TempDirectory directory;
  const std::string file = directory.file("file", "in the way");
  EXPECT_THROW(prepare_run_directory(job_in(file + "/run"), {}), Error);
  EXPECT_THAT(error_of([&] { prepare_run_directory(job_in(file + "/run"), {}); }),
              AllOf(HasSubstr("file/run"), HasSubstr("run.directory")));
}

TEST(OwnsCheckpoints, ThatLieInItsDirectoryByAnyName) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.path("run/checkpoints"));
  std::filesystem::create_directories(directory.path("run/deep"));
  std::filesystem::create_symlink(directory.path("run/deep"), directory.path("link"));
  const auto owns = [&](const std::string& checkpoints) {
    Config config;
    config.run.directory = directory.path("run");
    config.checkpoint.directory = directory.path(checkpoints);
    config.checkpoint.at_end = false;
    return owns_checkpoints(config);
  };
  for (const char* own : {"run/checkpoints", "run/checkpoints/", "link/../checkpoints"})
    EXPECT_TRUE(owns(own)) << own;
  for (const char* other : {"run", "run/.", "link/checkpoints", "checkpoints"})
    EXPECT_FALSE(owns(other)) << other;
}

TEST(ResumeFile, IsTheNewestTheOneNamedOrNone) {
  const TempDirectory directory;
  const CheckpointConfig none{directory.path("absent"), 0, 3, "auto", true};
  EXPECT_EQ(resume_file(none), "");
  directory.file("step-000010.h5", "");
  const std::string newest = directory.file("step-000200.h5", "");
  directory.file("step-000300.h5.tmp", "");
  CheckpointConfig checkpoint{directory.path(), 0, 3, "auto", true};
  EXPECT_EQ(resume_file(checkpoint), newest);
  checkpoint.resume = "must";
  EXPECT_EQ(resume_file(checkpoint), newest);
  checkpoint.resume = "never";
  EXPECT_EQ(resume_file(checkpoint), "");
  checkpoint.resume = directory.path("step-000010.h5");
  EXPECT_EQ(resume_file(checkpoint), checkpoint.resume);
}

TEST(ResumeFile, OneThatMustBeThereIsTheUsersError) {
  const TempDirectory directory;
  EXPECT_THROW(resume_file({directory.path(), 0, 3, "must", true}), UsageError);
  EXPECT_THROW(resume_file({directory.path(), 0, 3, directory.path("step-000010.h5"), true}),
               UsageError);
}

class DamagedCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    for (const int step : {5, 10, 20, 30})
      write_example(checkpoint_path(directory_.path(), step), {{"/model/a", DType::f32, {3}}},
                    {{1.0F, 2.0F, 3.0F}});
  }
  void truncate(int step) const {
    const std::string path = checkpoint_path(directory_.path(), step);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  }
  // Flips one bit in the tensor's data.
  void flip(int step) const {
    const std::string path = checkpoint_path(directory_.path(), step);
    const std::int64_t offset = hdf5::File(path, hdf5::File::Mode::read).offset("/model/a");
    flip_bit(path, offset + 5, 2);
  }
  std::string problem(int step) {
    return error_of(
        [&] { check_whole(grid_, checkpoint_path(directory_.path(), step), directory_.path()); });
  }
  TempDirectory directory_;
  ProcessGrid grid_{MPI_COMM_SELF, {}};
};

TEST_F(DamagedCheckpoint, NamesTheWholeOneBeforeIt) {
  EXPECT_EQ(problem(30), "");
  truncate(30);
  truncate(20);
  EXPECT_THAT(problem(30),
              AllOf(HasSubstr("step-000030.h5"), HasSubstr("truncated"),
                    HasSubstr("--set checkpoint.resume=" + directory_.path() + "/step-000010.h5")));
}

TEST_F(DamagedCheckpoint, AFlippedBitIsDamageToo) {
  flip(30);
  flip(20);
  EXPECT_THAT(problem(30),
              AllOf(HasSubstr("step-000030.h5"), HasSubstr("/model/a block 0, bytes 0 to 12"),
                    HasSubstr("--set checkpoint.resume=" + directory_.path() + "/step-000010.h5")));
}

TEST_F(DamagedCheckpoint, WithNoneBeforeItTheRunMayStartAnew) {
  truncate(5);
  EXPECT_THAT(problem(5), HasSubstr("checkpoint.resume=never"));
}

// The disk that the link points to may come back: the newest checkpoint is not skipped silently.
TEST_F(DamagedCheckpoint, MayBeALinkToNothing) {
  std::filesystem::create_symlink("/gone/c.h5", checkpoint_path(directory_.path(), 40));
  const CheckpointConfig checkpoint{directory_.path(), 0, 3, "auto", true};
  EXPECT_THAT(error_of([&] { checkpoint_to_resume(grid_, checkpoint); }),
              AllOf(HasSubstr("step-000040.h5"), HasSubstr("it is a link to /gone/c.h5"),
                    HasSubstr("--set checkpoint.resume=" + directory_.path() + "/step-000030.h5")));
}

TEST_F(DamagedCheckpoint, IsAFailureOfTheRunNotOfTheJob) {
  truncate(30);
  const CheckpointConfig checkpoint{directory_.path(), 0, 3, "auto", true};
  try {
    checkpoint_to_resume(grid_, checkpoint);
    ADD_FAILURE() << "a truncated file was taken";
  } catch (const UsageError&) {
    ADD_FAILURE() << "status 2";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("step-000020.h5"));
  }
  EXPECT_THROW(checkpoint_to_resume(grid_, {directory_.path("absent"), 0, 3, "must", true}),
               UsageError);
}

TEST(GatherHosts, NamesEachOnce) {
  ProcessGrid grid(MPI_COMM_SELF, {});
  EXPECT_EQ(gather_hosts(grid).size(), 1U);
}

}  // namespace
}  // namespace triax::test
