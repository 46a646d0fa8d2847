// The text of a resolved job (job.json) is the job again.
#include "src/config/load.hpp"
#include "src/config/paths.hpp"
#include "tests/config/job_files.hpp"
#include "tests/config/same_config.hpp"

namespace triax {
namespace {

class ResolvedText : public testing_support::JobFiles {};

TEST_F(ResolvedText, ExampleJobsReadTheirResolvedTextsAlike) {
  const std::filesystem::path source = TRIAX_SOURCE_DIR;
  const std::string weights = "model.from=" + (source / "tests/golden/llama-tiny").string();
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source / "jobs/examples")) {
    SCOPED_TRACE(entry.path());
    std::vector<std::string> overrides;
    if (entry.path().filename() == "from-deepspeed.json")
      overrides = {weights, "data.seq_length=64"};
    for (const int ranks : {8, 16}) {
      const auto first = load_job_to_plan(entry.path().string(), overrides, ranks);
      const auto again = load_job_to_plan(write("run/job.json", first.resolved), {}, ranks);
      EXPECT_TRUE(testing_support::same(first.config, again.config));
      EXPECT_EQ(first.resolved, again.resolved);
    }
    ++examples;
  }
  EXPECT_GE(examples, 4);
}

TEST_F(ResolvedText, AJobWithAbsolutePathsMeansTheSameElsewhere) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(path(""));
  const auto first = load_job(
      this->job(R"(, "run": {"directory": "runs/a"}, "checkpoint": {"resume": "must"})"), {}, 1);
  const auto absolute = write("runs/a/job.json", with_absolute_paths(first.resolved));
  std::filesystem::create_directories(path("elsewhere"));
  std::filesystem::current_path(path("elsewhere"));
  const auto again = load_job(absolute, {}, 1).config;
  std::filesystem::current_path(before);
  EXPECT_EQ(again.run.directory, path("runs/a"));
  EXPECT_EQ(again.checkpoint.directory, path("runs/a/checkpoints"));
  EXPECT_EQ(again.checkpoint.resume, "must");
  EXPECT_EQ(again.data.train, std::vector{path("text.txt")});
}

}  // namespace
}  // namespace triax
