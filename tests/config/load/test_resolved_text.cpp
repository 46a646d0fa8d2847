// SPDX-License-Identifier: Apache-2.0
// The text of a resolved job (job.json) is the job again.
#include "src/config/load/load.hpp"
#include "src/config/resolve/paths.hpp"
#include "src/config/resolve/resolved_paths.hpp"
#include "src/config/source/json_lines.hpp"
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
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path());
    std::vector<std::string> overrides;
    if (read_text(entry.path().string()).find("\"from\"") != std::string::npos)
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

// job.json names the files that were read: ".." leads above the target of a link.
TEST_F(ResolvedText, NamesTheFilesThatWereReadThroughLinks) {
  namespace fs = std::filesystem;
  write("tree/data/train.bin", "right"), write("data/train.bin", "wrong");
  write("tree/weights.h5", "right"), write("weights.h5", "wrong");
  fs::create_directories(path("tree/configs"));
  fs::create_directory_symlink("tree/configs", path("configs"));
  write("tree/configs/job.json", R"({"model": {"architecture": "gpt2"}, "train_batch_size": 1,
      "data": {"train": "../data/train.bin", "valid": "../data/*.bin"}})");
  const std::string up = path("configs/..");
  const auto first = load_job(path("configs/job.json"),
                              {"run.directory=" + up + "/run", "checkpoint.directory=" + up + "/ck",
                               "checkpoint.resume=" + up + "/weights.h5"},
                              1);
  const auto again = load_job(write("job.json", with_absolute_paths(first.resolved)), {}, 1).config;
  EXPECT_EQ(again.data.train, std::vector{path("tree/data/train.bin")});
  EXPECT_EQ(again.data.valid, std::vector{path("tree/data/train.bin")});
  EXPECT_EQ(again.run.directory, path("tree/run"));
  EXPECT_EQ(again.checkpoint.directory, path("tree/ck"));
  EXPECT_EQ(again.checkpoint.resume, path("tree/weights.h5"));
}

// "never" has a meaning in checkpoint.resume only.
TEST_F(ResolvedText, AFileMayHaveTheNameOfAWord) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(path(""));
  write("never", "x"), write("auto", "x");
  const auto job = load_job(
      this->job(),
      {"data.train=[\"never\", \"auto\"]", "run.directory=must", "checkpoint.resume=never"}, 1);
  const std::string text = with_absolute_paths(job.resolved);
  std::filesystem::current_path(before);
  const Config again = load_job(write("job.json", text), {}, 1).config;
  EXPECT_EQ(again.data.train, (std::vector{path("never"), path("auto")}));
  EXPECT_EQ(again.run.directory, path("must"));
  EXPECT_EQ(again.checkpoint.resume, "never");
}

// job.json names the directory that the run had before it was moved.
TEST_F(ResolvedText, ARunThatWasMovedDoesNotBeginAnewWhereItWas) {
  const auto text = [&](const std::string& triax) {
    return R"({"model": {"architecture": "gpt2"}, "train_batch_size": 1, "data": {"train": "text.txt"},
      "run": {"directory": ")" +
           path("runs/a") + "\"}" + triax + "}";
  };
  const std::string job = text(R"(, "triax": {"version": "1"})");
  const auto own = write("runs/a/job.json", job), copy = write("template.json", job);
  const auto extending = write("next/job.json", R"({"extends": "../template.json",
      "run": {"directory": ")" + path("runs/b") + "\"}}");
  write("text.txt", "x"), write("runs/a/text.txt", "x");
  EXPECT_EQ(error_of(own), "");
  EXPECT_EQ(error_of(copy), "") << "a template";
  std::filesystem::rename(path("runs"), path("archive"));
  const auto moved = path("archive/a/job.json");
  EXPECT_EQ(error_of(moved),
            "archive/a/job.json:2: run.directory: there is no run in runs/a any more, the "
            "directory of the run that wrote archive/a/job.json. If the run was moved to "
            "archive/a, use --set run.directory=archive/a; for a new run, set another directory");
  EXPECT_EQ(error_of(moved, 1, {"run.directory=" + path("archive/a")}), "");
  EXPECT_EQ(error_of(write("first.json", text(""))), "") << "no run's";
  EXPECT_EQ(error_of(extending), "");
  EXPECT_EQ(load_job_to_plan(moved, {}, 1).missing.size(), 1U) << "a plan shows it";
}

}  // namespace
}  // namespace triax
