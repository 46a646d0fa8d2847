#include "src/config/paths.hpp"

#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

class Paths : public testing_support::JobFiles {
 protected:
  std::vector<std::string> train(const std::string& value) {
    const auto file = write("job.json",
                            "{\"model\": {\"architecture\": \"gpt2\"}, \"train_batch_size\": 1, "
                            "\"data\": {\"train\": " +
                                value + "}}");
    return load_job(file, {}, 1).config.data.train;
  }
};

TEST_F(Paths, ExpandsPatternsSorted) {
  for (const auto* name : {"c/3.txt", "c/1.txt", "c/2.txt", "c/x.bin", "c/dir.txt/inner"})
    write(name, "x");
  EXPECT_THAT(train("[\"c/*.txt\", \"" + path("c/x.bin") + "\"]"),
              ElementsAre(path("c/1.txt"), path("c/2.txt"), path("c/3.txt"), path("c/x.bin")));
  EXPECT_THAT(train("\"c/[12].txt\""), ElementsAre(path("c/1.txt"), path("c/2.txt")));
}

TEST_F(Paths, LooksInTheWorkingDirectoryFirst) {
  const auto here = std::filesystem::current_path();
  write("cwd/data.txt", "x");
  write("cwd/other/unused.txt", "x");
  write("data.txt", "x");
  std::filesystem::current_path(path("cwd"));
  EXPECT_THAT(train("\"data.txt\""), ElementsAre("data.txt"));
  EXPECT_THAT(train("\"text.txt\""), ElementsAre(path("text.txt")))
      << "not here, but beside the job file";
  std::filesystem::current_path(here);
}

TEST_F(Paths, AFileBesideTheFileThatNamesIt) {
  write("bases/base.json", R"({"model": {"architecture": "gpt2"}, "data": {"train": "near.txt"},
    "train_batch_size": 1})");
  write("bases/near.txt", "x");
  EXPECT_THAT(
      load_job(write("job.json", "{\"extends\": \"bases/base.json\"}"), {}, 1).config.data.train,
      ElementsAre(path("bases/near.txt")));
}

TEST_F(Paths, AMegatronPrefixStandsForItsPair) {
  write("c/corpus.v1_text.idx", "x");
  EXPECT_THAT(train("\"c/corpus.v1_text\""), ElementsAre(path("c/corpus.v1_text.bin")));
  EXPECT_THAT(error("", 1, {"data.train=c/corpus"}),
              HasSubstr("no such file: c/corpus, nor c/corpus.idx"));
}

TEST_F(Paths, MissingFilesAreNamed) {
  EXPECT_EQ(error(", \"run\": {}", 1, {"data.train=nothing.txt"}),
            "--set: data.train: no such file: nothing.txt");
  EXPECT_THAT(error("", 1, {"data.train=no*.txt"}),
              HasSubstr("data.train: no file matches no*.txt"));
  EXPECT_THAT(error("", 1, {"data.valid=no.txt"}), HasSubstr("data.valid: no such file: no.txt"));
  EXPECT_THAT(error("", 1, {"data.train=/tmp"}), HasSubstr("/tmp is a directory. Name its files"));
  EXPECT_THAT(error_of(write("job.json", "// a job\n{\"model\": {\"architecture\": \"gpt2\"}}")),
              HasSubstr("job.json:2: data.train: missing."));
  EXPECT_THAT(
      error_of(write("job.json", "{\"model\": {\"architecture\": \"gpt2\"},\n\"data\": {}}")),
      HasSubstr("job.json:2: data.train: missing."));
}

}  // namespace
}  // namespace triax
