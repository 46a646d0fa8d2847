// SPDX-License-Identifier: Apache-2.0
#include "src/report/terminal.hpp"

#include "tests/report/run_fixture.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Plot, DrawsALineFromCornerToCorner) {
  Series series;
  for (int i = 0; i < 8; ++i) series.add(i, i);
  EXPECT_THAT(plot(series, 4, 2, true, 0.0, 7.0),
              ElementsAre("\u2800\u2800\u2860\u280a", "\u2860\u280a\u2800\u2800"));
  EXPECT_THAT(plot(series, 4, 2, false, 0.0, 7.0), ElementsAre("  **", "**  "));
}

TEST(Watch, ShowsWhereARunIs) {
  const RunFixture fixture(50);
  RunData run = read_run(fixture.directory());
  const std::string text =
      watch_text(run, {.columns = 80, .rows = 24, .braille = false}, run.updated + 1);
  EXPECT_THAT(text, HasSubstr("running, 13 s left")) << "50 steps of a quarter of a second";
  EXPECT_THAT(text, HasSubstr("step 50 of 100 [="));
  EXPECT_THAT(text, HasSubstr("5000 tokens/s"));
  EXPECT_THAT(text, HasSubstr("loss  step 0"));
}

TEST(Watch, SaysThatNothingComes) {
  const RunFixture fixture(50);
  const RunData run = read_run(fixture.directory());
  EXPECT_THAT(watch_text(run, {}, run.updated + 300), HasSubstr("no new step for 5 min 0 s"));
  fixture.event("stop", {{"step", 50}, {"by", "SIGTERM"}});
  const std::string stopped = watch_text(read_run(fixture.directory()), {}, run.updated + 300);
  EXPECT_THAT(stopped, HasSubstr("stopped"));
  EXPECT_THAT(stopped, HasSubstr("stopped by SIGTERM"));
  EXPECT_THAT(stopped, Not(HasSubstr("no new step")));
}

TEST(Watch, OfARunWithoutSteps) {
  const TempDirectory directory;
  directory.file("job.json", R"({"run":{"steps":10}})");
  EXPECT_THAT(watch_text(read_run(directory.path()), {}, 0.0), HasSubstr("no step yet"));
}

}  // namespace
}  // namespace triax::test
