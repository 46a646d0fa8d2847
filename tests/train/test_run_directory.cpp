#include "src/train/run_directory.hpp"

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
  EXPECT_EQ(written["train_micro_batch_size_per_gpu"], 2);
}

TEST(RunDirectory, ItsJobIsTheSameJob) {
  const TempDirectory directory;
  const LoadedJob job = job_in(directory.path("run"));
  prepare_run_directory(job, {"node1"});
  EXPECT_EQ(load_job(directory.path("run/job.json"), {}, 1).resolved, job.resolved);
}

TEST(RunDirectory, OneThatCannotBeMadeIsNamed) {
  const TempDirectory directory;
  const std::string file = directory.file("file", "in the way");
  EXPECT_THROW(prepare_run_directory(job_in(file + "/run"), {}), Error);
  EXPECT_THAT(error_of([&] { prepare_run_directory(job_in(file + "/run"), {}); }),
              AllOf(HasSubstr("file/run"), HasSubstr("run.directory")));
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

TEST(GatherHosts, NamesEachOnce) {
  ProcessGrid grid(MPI_COMM_SELF, {});
  EXPECT_EQ(gather_hosts(grid).size(), 1U);
}

}  // namespace
}  // namespace triax::test
