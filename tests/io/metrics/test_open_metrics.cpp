// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/open_metrics.hpp"

#include <cmath>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::HasSubstr;

RunState state_of(std::int64_t step) {
  RunState state;
  state.step.step = step;
  state.step.loss = 2.5;
  state.steps = 100;
  return state;
}

TEST(OpenMetrics, HasOneSamplePerGaugeAndAnEnd) {
  RunState state = state_of(9);
  state.step.grad_norm = std::nan("");
  const std::string text = open_metrics_text(state, "runs/\"a\"", 12.5);
  EXPECT_THAT(text, HasSubstr("# TYPE triax_loss gauge\ntriax_loss{run=\"runs/\\\"a\\\"\"} 2.5\n"));
  EXPECT_THAT(text, HasSubstr("} NaN\n"));
  EXPECT_THAT(text, HasSubstr("triax_steps_done{run=\"runs/\\\"a\\\"\"} 10\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("valid_loss")));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  state.valid_loss = 3.0;
  EXPECT_THAT(open_metrics_text(state, "a", 0.0), HasSubstr("triax_valid_loss{run=\"a\"} 3\n"));
}

TEST(OpenMetrics, IsReplacedAtMostOnceASecondAndAtTheEnd) {
  const TempDirectory directory;
  OpenMetricsFile file(directory.path("triax.prom"), "a");
  EXPECT_EQ(file.update(state_of(0)), "");
  EXPECT_EQ(file.update(state_of(1)), "");
  EXPECT_THAT(contents(directory.path("triax.prom")), HasSubstr("triax_steps_done{run=\"a\"} 1\n"));
  RunState end = state_of(2);
  end.running = false;
  EXPECT_EQ(file.update(end), "");
  EXPECT_THAT(contents(directory.path("triax.prom")), HasSubstr("triax_steps_done{run=\"a\"} 3\n"));
  EXPECT_THAT(contents(directory.path("triax.prom")), HasSubstr("triax_running{run=\"a\"} 0\n"));
  OpenMetricsFile nowhere(directory.path("absent/triax.prom"), "a");
  EXPECT_THAT(nowhere.update(state_of(0)), HasSubstr("cannot write"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()),
                          std::filesystem::directory_iterator()),
            1);
}

}  // namespace
}  // namespace triax
