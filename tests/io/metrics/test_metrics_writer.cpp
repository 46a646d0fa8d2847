// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/metrics_writer.hpp"

#include "tests/io/metrics/metrics_lines.hpp"

namespace triax::test {
namespace {

using nlohmann::json;

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

}  // namespace
}  // namespace triax::test
