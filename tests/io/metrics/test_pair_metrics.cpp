// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/pair_metrics.hpp"

#include "tests/io/metrics/metrics_lines.hpp"

namespace triax::test {
namespace {

using nlohmann::json;

TEST(PairMetrics, PairsHaveTheNamesOfTrl) {
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

}  // namespace
}  // namespace triax::test
