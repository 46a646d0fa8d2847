// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/metrics_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<json> lines(const std::string& path) {
  std::vector<json> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
  return out;
}

std::vector<std::int64_t> steps(const std::string& path) {
  std::vector<std::int64_t> out;
  for (const json& line : lines(path)) out.push_back(line.at("step").get<std::int64_t>());
  return out;
}

void write_steps(const std::string& path, std::int64_t begin, std::int64_t end) {
  MetricsWriter writer(path, begin);
  for (std::int64_t step = begin; step < end; ++step) {
    StepMetrics m;
    m.step = step;
    writer.write(m);
  }
}

TEST(MetricsWriter, WritesEveryField) {
  const TempDirectory dir;
  StepMetrics m;
  m.step = 3;
  m.loss = 2.5;
  m.grad_norm = 0.1;
  m.lr = 6e-4;
  m.tokens = 4096;
  m.tokens_per_second = 1e22;
  m.step_seconds = 7;
  m.peak_memory_bytes = std::int64_t{1} << 40;
  m.bytes_sent_data = 1;
  m.bytes_sent_tensor = 2;
  m.bytes_sent_pipeline = 3;
  m.messages_sent_data = 4;
  m.messages_sent_tensor = 5;
  m.messages_sent_pipeline = 6;
  {
    MetricsWriter writer(dir.path("m"), 0);
    writer.write(m);
    m.mfu = 0.5;
    writer.write(m);
    writer.write_valid(3, 1.25, 4096);
  }
  const auto read = lines(dir.path("m"));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0], json::parse(R"({"step":3,"loss":2.5,"grad_norm":0.1,"lr":6e-4,"tokens":4096,
      "tokens_per_second":1e22,"step_seconds":7.0,"peak_memory_bytes":1099511627776,
      "bytes_sent":{"data":1,"tensor":2,"pipeline":3},
      "messages_sent":{"data":4,"tensor":5,"pipeline":6}})"));
  EXPECT_EQ(read[1].at("mfu"), 0.5);
  EXPECT_EQ(read[2], json::parse(R"({"step":3,"valid_loss":1.25,"tokens":4096})"));
}

TEST(MetricsWriter, LabelTokensAreThereWhereTheyAreKnown) {
  const TempDirectory dir;
  StepMetrics m;
  {
    MetricsWriter writer(dir.path("m"), 0);
    writer.write(m);
    EXPECT_FALSE(m.without_labels());
    m.label_tokens = 0;
    writer.write(m);
    EXPECT_TRUE(m.without_labels());
  }
  const auto read = lines(dir.path("m"));
  EXPECT_FALSE(read[0].contains("label_tokens"));
  EXPECT_EQ(read[1].at("label_tokens"), 0);
}

TEST(MetricsWriter, PairsHaveTheNamesOfTrl) {
  const TempDirectory dir;
  StepMetrics m;
  m.pairs = PairMetrics{0.5, -0.25, 0.75, -10.0, -12.0};
  {
    MetricsWriter writer(dir.path("m"), 0);
    writer.write(m);
    m.pairs->chosen_loss = 2.5;
    writer.write_valid(0, 1.25, 4096, m.pairs);
  }
  const auto read = lines(dir.path("m"));
  const json rewards =
      json::parse(R"({"chosen":0.5,"rejected":-0.25,"margins":0.75,"accuracies":0.75})");
  EXPECT_EQ(read[0].at("rewards"), rewards);
  EXPECT_EQ(read[0].at("logps"), json::parse(R"({"chosen":-10.0,"rejected":-12.0})"));
  EXPECT_FALSE(read[0].contains("nll_loss"));
  EXPECT_EQ(read[1].at("rewards"), rewards);
  EXPECT_EQ(read[1].at("nll_loss"), 2.5);
  EXPECT_EQ(read[1].at("valid_loss"), 1.25);
}

TEST(MetricsWriter, EpochsAreThereByTheNameOfTheirSource) {
  const TempDirectory dir;
  StepMetrics m;
  {
    MetricsWriter writer(dir.path("m"), 0);
    writer.write(m);
    m.epochs = {{"a \"1\".bin", 0.5}, {"b", 2.0}};
    writer.write(m);
  }
  const auto read = lines(dir.path("m"));
  EXPECT_FALSE(read[0].contains("epochs"));
  EXPECT_EQ(read[1].at("epochs"), (json{{"a \"1\".bin", 0.5}, {"b", 2.0}}));
}

TEST(MetricsWriter, ARollbackIsALineOfTheStepThatFollows) {
  const TempDirectory dir;
  StepMetrics m;
  m.step = 5;
  m.loss_spike = true;
  {
    MetricsWriter writer(dir.path("m"), 0);
    writer.write(m);
    writer.write_rollback({4, 5, 7.5, "run/\"a\".h5", 48, 16, 2});
  }
  const auto read = lines(dir.path("m"));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].at("loss_spike"), true);
  EXPECT_EQ(read[1], json::parse(R"({"event":"rollback","step":4,"spike_step":5,"spike_loss":7.5,
      "checkpoint":"run/\"a\".h5","sample":48,"samples_skipped":16,"number":2})"));
  EXPECT_EQ(MetricsWriter(dir.path("m"), 5).set_aside(), 1) << "of step 5, which is made again";
  EXPECT_EQ(lines(dir.path("m")).size(), 1u);
  EXPECT_EQ(MetricsWriter(dir.path("m"), 4).set_aside(), 1);
  EXPECT_TRUE(lines(dir.path("m")).empty());
}

TEST(MetricsWriter, FloatsReadBackBitForBit) {
  const TempDirectory dir;
  using limits = std::numeric_limits<double>;
  std::vector<double> values = {0.0,     -0.0,          1.0,           -3.0,
                                1e15,    1e16,          1e17,          1e22,
                                0.1,     limits::min(), limits::max(), limits::denorm_min(),
                                1.0 / 3, 123456789.0};
  std::mt19937_64 random(5);
  while (values.size() < 2000) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  {
    MetricsWriter writer(dir.path("m"), 0);
    for (const double value : values) writer.write_valid(0, value, 0);
  }
  const auto read = lines(dir.path("m"));
  ASSERT_EQ(read.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_TRUE(read[i].at("valid_loss").is_number_float()) << values[i];
    ASSERT_EQ(std::bit_cast<std::uint64_t>(read[i].at("valid_loss").get<double>()),
              std::bit_cast<std::uint64_t>(values[i]))
        << values[i];
  }
}

TEST(MetricsWriter, NotANumberIsNull) {
  const TempDirectory dir;
  MetricsWriter writer(dir.path("m"), 0);
  writer.write_valid(0, std::nan(""), 0);
  writer.write_valid(1, -HUGE_VAL, 0);
  // Reads while the writer is open: each line is flushed.
  const auto read = lines(dir.path("m"));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_TRUE(read[0].at("valid_loss").is_null());
  EXPECT_TRUE(read[1].at("valid_loss").is_null());
}

TEST(MetricsWriter, AResumedRunRepeatsNoStep) {
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

TEST(MetricsWriter, WhatIsMadeAgainIsSetAside) {
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

TEST(MetricsWriter, NothingIsLostWhereThereIsNoRoomToSetItAside) {
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
TEST(MetricsWriter, AFileThatNeedNotChangeIsNotCopied) {
  const TempDirectory dir;
  const std::string path = dir.path("m");
  write_steps(path, 0, 3);
  std::filesystem::create_directory(path + ".tmp");  // a copy would fail
  EXPECT_EQ(error_of([&] { MetricsWriter(path, 3); }), "");
  EXPECT_THAT(steps(path), ElementsAre(0, 1, 2));
  EXPECT_THAT(error_of([&] { MetricsWriter(path, 2); }), HasSubstr(path + ".tmp"));
}

TEST(MetricsWriter, APipeNeedsAReader) {
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

TEST(MetricsWriter, KeepsEarlierValidLines) {
  const TempDirectory dir;
  {
    MetricsWriter writer(dir.path("m"), 0);
    writer.write_valid(1, 1, 1);
    writer.write_valid(2, 1, 1);
  }
  { MetricsWriter(dir.path("m"), 2); }
  EXPECT_THAT(steps(dir.path("m")), ElementsAre(1));
}

TEST(MetricsWriter, DropsATornLastLine) {
  const TempDirectory dir;
  // Last lines torn in the middle, torn before the newline, and torn with a newline.
  for (const std::string torn : {"{\"step\":1,\"lo", "{\"step\":1}", "{\"step\":1,\n"}) {
    const std::string path = dir.file("m", "{\"step\":0}\n" + torn);
    write_steps(path, 2, 3);
    EXPECT_THAT(steps(path), ElementsAre(0, 2)) << torn;
    EXPECT_FALSE(std::filesystem::exists(superseded_metrics(path)));
  }
}

TEST(MetricsWriter, KnowsTheValidationOfTheStepBefore) {
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
TEST(MetricsWriter, AFileThatCannotBeReadIsLeftAlone) {
  const TempDirectory directory;
  const std::string path = directory.path("metrics.jsonl");
  std::filesystem::create_symlink("/proc/self/mem", path);
  EXPECT_THAT(error_of([&] { MetricsWriter writer(path, 1); }), HasSubstr("cannot read " + path));
  EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST(MetricsWriter, FailuresNameTheFile) {
  const TempDirectory dir;
  const std::string blocked = dir.file("file", "") + "/metrics.jsonl";
  EXPECT_THAT(error_of([&] { MetricsWriter(blocked, 0); }),
              AllOf(HasSubstr("metrics.jsonl"), HasSubstr("Not a directory")));
  MetricsWriter full("/dev/full", 0);
  full.write_valid(0, 1, 1);
  EXPECT_THAT(full.problem(), AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
}

TEST(MetricsWriter, LinesAreNotWrittenToAFileThatIsGone) {
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

TEST(MetricsWriter, TheLastLineSaysWhetherAValidationIsMissing) {
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

TEST(MetricsWriter, LinesWaitWhileTheDiskIsFull) {
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
}  // namespace triax
