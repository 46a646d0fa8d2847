// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl after a run that is resumed, and where it cannot be written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/io/metrics/metrics_lines.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(MetricsWriterFiles, AResumedRunRepeatsNoStep) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  write_steps(path, 0, 5);
  { MetricsWriter(path, 5).write_valid(4, 1, 1); }
  write_steps(path, 3, 6);
  EXPECT_THAT(steps(path), ElementsAre(0, 1, 2, 3, 4, 5));
  write_steps(path, 6, 7);  // nothing to move
  EXPECT_THAT(steps(path), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  write_steps(path, 0, 1);
  EXPECT_THAT(steps(path), ElementsAre(0));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(MetricsWriterFiles, WhatIsMadeAgainIsSetAside) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  const std::string aside = superseded_metrics(path);
  write_steps(path, 0, 5);
  EXPECT_EQ(MetricsWriter(path, 5).set_aside(), 0);
  EXPECT_FALSE(std::filesystem::exists(aside));
  std::string last = contents(path);
  last = last.substr(last.rfind("{\"step\":4"));
  EXPECT_EQ(MetricsWriter(path, 4).set_aside(), 1);
  EXPECT_EQ(contents(aside), last) << "as it was";
  EXPECT_EQ(MetricsWriter(path, 2).set_aside(), 2);
  EXPECT_THAT(steps(aside), ElementsAre(4, 2, 3));
  EXPECT_THAT(steps(path), ElementsAre(0, 1));
}

TEST(MetricsWriterFiles, NothingIsLostWhereThereIsNoRoomToSetItAside) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  const std::string aside = superseded_metrics(path);
  write_steps(path, 0, 3);
  MetricsWriter(path, 2);
  write_steps(path, 2, 4);
  const std::string before = contents(path);
  const std::string before_aside = contents(aside);
  {
    const FileSizeLimit full(before_aside.size() + before_aside.size() / 2);
    EXPECT_THAT(error_of([&] { MetricsWriter(path, 3); }), HasSubstr("cannot write"));
  }
  EXPECT_EQ(contents(path), before);
  EXPECT_EQ(contents(aside), before_aside);
  std::filesystem::remove(aside);
  std::filesystem::create_directory(aside);
  EXPECT_THAT(error_of([&] { MetricsWriter(path, 3); }), HasSubstr(aside));
  EXPECT_EQ(contents(path), before);
}

// A full disk takes no second copy of a file that need not change.
TEST(MetricsWriterFiles, AFileThatNeedNotChangeIsNotCopied) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  write_steps(path, 0, 3);
  std::filesystem::create_directory(path + ".tmp");  // a copy would fail
  EXPECT_EQ(error_of([&] { MetricsWriter(path, 3); }), "");
  EXPECT_THAT(steps(path), ElementsAre(0, 1, 2));
  EXPECT_THAT(error_of([&] { MetricsWriter(path, 2); }), HasSubstr(path + ".tmp"));
}

TEST(MetricsWriterFiles, APipeNeedsAReader) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { MetricsWriter(path, 0); }),
              HasSubstr("it is a pipe that no process reads"));
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  MetricsWriter writer(path, 0);
  writer.write_valid(0, 1, 1);
  EXPECT_EQ(writer.problem(), "");
  char line[256] = {};
  EXPECT_GT(::read(reader, line, sizeof line), 0);
  EXPECT_TRUE(std::string(line).starts_with("{\"step\":0")) << line;
  ::close(reader);
}

TEST(MetricsWriterFiles, KeepsEarlierValidLines) {
  const TempDirectory dir;
  {
    MetricsWriter writer(dir.path("m"), 0);
    writer.write_valid(1, 1, 1);
    writer.write_valid(2, 1, 1);
  }
  { MetricsWriter(dir.path("m"), 2); }
  EXPECT_THAT(steps(dir.path("m")), ElementsAre(1));
}

TEST(MetricsWriterFiles, DropsATornLastLine) {
  const TempDirectory dir;
  // Last lines torn in the middle, torn before the newline, and torn with a newline.
  for (const std::string torn : {"{\"step\":1,\"lo", "{\"step\":1}", "{\"step\":1,\n"}) {
    const std::string path = dir.file("m", "{\"step\":0}\n" + torn);
    write_steps(path, 2, 3);
    EXPECT_THAT(steps(path), ElementsAre(0, 2)) << torn;
    EXPECT_FALSE(std::filesystem::exists(superseded_metrics(path)));
  }
}

TEST(MetricsWriterFiles, KnowsTheValidationOfTheStepBefore) {
  const TempDirectory directory;
  const std::string path = directory.path("metrics.jsonl");
  write_steps(path, 0, 4);
  EXPECT_EQ(MetricsWriter(path, 4).validation(), std::nullopt);
  MetricsWriter(path, 4).write_valid(3, 1.5, 40);
  EXPECT_EQ(MetricsWriter(path, 4).validation(), 1.5);
  EXPECT_EQ(MetricsWriter(path, 5).validation(), std::nullopt);
  EXPECT_EQ(steps(path).size(), 5U);
}

// Reading /proc/self/mem from byte 0 fails like a bad disk.
TEST(MetricsWriterFiles, AFileThatCannotBeReadIsLeftAlone) {
  const TempDirectory directory;
  const std::string path = directory.path("metrics.jsonl");
  std::filesystem::create_symlink("/proc/self/mem", path);
  EXPECT_THAT(error_of([&] { MetricsWriter writer(path, 1); }), HasSubstr("cannot read " + path));
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST(MetricsWriterFiles, FailuresNameTheFile) {
  const TempDirectory dir;
  const std::string blocked = dir.file("file", "") + "/metrics.jsonl";
  EXPECT_THAT(error_of([&] { MetricsWriter(blocked, 0); }),
              AllOf(HasSubstr("metrics.jsonl"), HasSubstr("Not a directory")));
  MetricsWriter full("/dev/full", 0);
  full.write_valid(0, 1, 1);
  EXPECT_THAT(full.problem(), AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
}

TEST(MetricsWriterFiles, LinesAreNotWrittenToAFileThatIsGone) {
  const TempDirectory dir;
  std::filesystem::create_directory(dir.path("run"));
  const std::string path = dir.path("run/m");
  MetricsWriter writer(path, 0);
  writer.write_valid(0, 1, 1);
  std::filesystem::rename(dir.path("run"), dir.path("elsewhere"));
  EXPECT_THAT(error_of([&] { writer.sync(); }), HasSubstr(path + " is gone"));
  writer.write_valid(1, 1, 1);
  EXPECT_THAT(writer.problem(), HasSubstr(path + " is gone"));
  EXPECT_THAT(error_of([&] { writer.sync(); }),
              AllOf(HasSubstr("39 bytes of lines have not been written"),
                    testing::Not(HasSubstr("permissions"))));
  dir.file("another", "");
  std::filesystem::create_directory(dir.path("run"));
  std::filesystem::rename(dir.path("another"), path);
  writer.write_valid(2, 1, 1);
  EXPECT_THAT(writer.problem(), HasSubstr("is gone")) << "a file of somebody else";
  std::filesystem::remove_all(dir.path("run"));
  std::filesystem::rename(dir.path("elsewhere"), dir.path("run"));
  writer.write_valid(3, 1, 1);
  writer.sync();
  EXPECT_THAT(steps(path), ElementsAre(0, 1, 2, 3));
}

TEST(MetricsWriterFiles, TheLastLineSaysWhetherAValidationIsMissing) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  EXPECT_FALSE(ends_with_step(path, 2)) << "there is no file";
  write_steps(path, 0, 3);
  EXPECT_TRUE(ends_with_step(path, 2));
  EXPECT_FALSE(ends_with_step(path, 1));
  EXPECT_FALSE(ends_with_step(path, 3));
  std::ofstream(path, std::ios::app) << R"({"step":2,"valid_l)";
  EXPECT_TRUE(ends_with_step(path, 2)) << "a torn line is none";
  MetricsWriter(path, 3).write_valid(2, 1.0, 1);
  EXPECT_FALSE(ends_with_step(path, 2));
}

TEST(MetricsWriterFiles, LinesWaitWhileTheDiskIsFull) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  MetricsWriter writer(path, 0);
  StepMetrics m;
  writer.write(m);
  EXPECT_THAT(writer.problem(), testing::IsEmpty());
  const auto one = std::filesystem::file_size(path);
  {
    const FileSizeLimit full(one + one / 2);
    for (m.step = 1; m.step < 4; ++m.step) writer.write(m);
    EXPECT_THAT(writer.problem(), HasSubstr(path));
    EXPECT_EQ(std::filesystem::file_size(path), one) << "no torn line";
    EXPECT_THAT(error_of([&] { writer.sync(); }), HasSubstr("Free some space"));
  }
  writer.write_valid(3, 1.5, 10);
  EXPECT_THAT(writer.problem(), testing::IsEmpty());
  writer.sync();
  EXPECT_THAT(steps(path), ElementsAre(0, 1, 2, 3, 3));
}

}  // namespace
}  // namespace triax::test
