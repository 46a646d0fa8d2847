// SPDX-License-Identifier: Apache-2.0
// Paths of a run: odd directory names, links, and paths that are no files.
#include <sys/stat.h>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunPaths : public SmallJob {
 protected:
  // Runs triax with `directory` as its working directory.
  static Outcome in(const std::string& directory, const std::string& arguments) {
    return outcome_of_script("cd " + shell_word(directory) + " && " + command_of(arguments));
  }
  // Makes a directory with a job and its data, which the job names by a pattern.
  void make_job(const std::string& directory, const std::string& letter) const {
    std::filesystem::create_directories(directory_.path(directory + "/data"));
    std::string text;
    while (text.size() < 4000) text += letter + " line\n";
    directory_.file(directory + "/data/text.txt", text);
    directory_.file(directory + "/job.json", R"({
      "model": {"architecture": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 16, "vocab_size": 256},
      "data": {"train": ["data/*.txt"]}, "run": {"steps": 2, "directory": "run"}, "train_batch_size": 2})");
  }
};

TEST_F(RunPaths, AJobTrainsOnTheDataOfItsOwnDirectory) {
  for (const auto& [directory, other] : {std::pair{"run[1]", "run1"}, std::pair{"what?", "what1"},
                                         std::pair{"back\\slash", "backslash"}}) {
    make_job(directory, "right");
    make_job(other, "wrong");
    // Started elsewhere, so that the pattern is resolved beside the job file.
    const std::string run = directory_.path(std::string(directory) + "/run");
    const std::string job = shell_word(directory_.path(std::string(directory) + "/job.json"));
    const Outcome first = in("/", "train " + job + " --set run.directory=" + shell_word(run));
    ASSERT_EQ(first.status, 0) << first.text;
    EXPECT_THAT(contents(run + "/job.json"), Not(HasSubstr(other + std::string("/data"))));
    // Runs again from job.json, and then without its data file.
    const std::string again = "train " + shell_word(run + "/job.json") + " --set run.steps=3";
    const Outcome second = in("/", again);
    EXPECT_EQ(second.status, 0) << second.text;
    EXPECT_THAT(second.text,
                AllOf(HasSubstr("resumed from " + run), Not(HasSubstr("resumed with other"))));
    std::filesystem::remove(directory_.path(std::string(directory) + "/data/text.txt"));
    EXPECT_EQ(in("/", again).status, 2);
  }
}

// configs is a link to ../tree/configs; another file lies where the path would lead without
// "configs/..".
TEST_F(RunPaths, ARunRemembersTheFileThatItReadThroughALink) {
  make_job("tree", "right");
  make_job("here", "wrong");
  std::filesystem::create_directories(directory_.path("tree/configs"));
  std::filesystem::create_directory_symlink("../tree/configs", directory_.path("here/configs"));
  std::string job = contents(directory_.path("tree/job.json"));
  job.replace(job.find("data/*.txt"), 10, "../data/text.txt");
  directory_.file("tree/configs/job.json", job);
  const Outcome first =
      in(directory_.path("here"), "train configs/job.json --set run.directory=configs/../run");
  ASSERT_EQ(first.status, 0) << first.text;
  const std::string file = directory_.path("tree/run/job.json");
  EXPECT_THAT(contents(file), AllOf(HasSubstr(directory_.path("tree/data/text.txt")),
                                    Not(HasSubstr(directory_.path("here")))));
  const Outcome second = in("/proc", "train " + shell_word(file) + " --set run.steps=3");
  EXPECT_EQ(second.status, 0) << second.text;
  EXPECT_THAT(second.text, AllOf(HasSubstr("resumed from "), Not(HasSubstr("resumed with"))));
}

TEST_F(RunPaths, DataFromAPipeAreRefused) {
  ASSERT_EQ(::mkfifo(directory_.path("pipe").c_str(), 0600), 0);
  const std::string train = command_of("train " + shell_word(directory_.path("job.json")));
  for (const std::string& script :
       {train + " --set data.train=" + shell_word(directory_.path("pipe")),
        "cat " + shell_word(directory_.path("text.txt")) + " | " + train +
            " --set data.train=/dev/stdin",
        train + " --set data.train=/dev/stdin <" + shell_word(directory_.path("text.txt")),
        train + " --set data.train=<(cat " + shell_word(directory_.path("text.txt")) + ")"}) {
    const Outcome run = outcome_of_script(script);
    EXPECT_EQ(run.status, 2) << run.text;
    EXPECT_THAT(run.text, AllOf(HasSubstr("data.train: "), HasSubstr("must be a regular file")));
  }
}

TEST_F(RunPaths, PointersOfGitLfsAreNamed) {
  directory_.file("text.txt",
                  "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 99999\n");
  const Outcome run = on_job("train");
  EXPECT_EQ(run.status, 3) << run.text;
  EXPECT_THAT(run.text, AllOf(HasSubstr("text.txt is a pointer of git-lfs"),
                              HasSubstr("stands for 99999"), HasSubstr("git lfs pull")));
}

}  // namespace
}  // namespace triax::test
