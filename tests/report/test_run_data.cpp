// SPDX-License-Identifier: Apache-2.0
#include "src/report/run_data.hpp"

#include "kernels/base/check.hpp"
#include "src/report/envelope.hpp"
#include "src/report/scale.hpp"
#include "tests/report/run_fixture.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RunData, HasTheCurvesOfMetricsJsonl) {
  const RunFixture fixture(200);
  const RunData run = read_run(fixture.directory());
  EXPECT_EQ(run.curve("loss").y.size(), 200U);
  EXPECT_THAT(run.curve("valid_loss").x, ElementsAre(99, 199));
  EXPECT_TRUE(run.curve("mfu").empty());
  EXPECT_EQ(run.steps_done, 200);
  EXPECT_EQ(run.steps, 400);
  EXPECT_EQ(run.tokens, 200 * 1024);
  EXPECT_TRUE(run.notes.empty());
  EXPECT_FALSE(run.ended);
}

TEST(RunData, ReadsEventsAndNamesARunThatEndedWithoutNotice) {
  const RunFixture fixture(10);
  fixture.event("start", {{"step", 0}, {"steps", 30}, {"ranks", 4}});
  fixture.event("checkpoint", {{"step", 5}, {"seconds", 0.5}, {"bytes", 1000}});
  fixture.event("start", {{"step", 5}, {"steps", 30}, {"ranks", 2}, {"resumed_from", "a.h5"}});
  fixture.event("memory",
                {{"rank", 1}, {"planned", {{"gradients", 5}}}, {"used", {{"gradients", 4}}}});
  fixture.event("stop", {{"step", 10}, {"by", "SIGUSR1"}, {"unsaved", ""}});
  const RunData run = read_run(fixture.directory());
  ASSERT_EQ(run.events.size(), 3U);
  EXPECT_THAT(run.events[1].text,
              HasSubstr("resumed from a.h5; the run before it ended without notice"));
  EXPECT_THAT(run.events[2].text, HasSubstr("stopped by SIGUSR1"));
  EXPECT_EQ(run.start["ranks"], 2);
  EXPECT_EQ(run.steps, 30);
  EXPECT_TRUE(run.ended);
  ASSERT_EQ(run.checkpoints.size(), 1U);
  EXPECT_EQ(run.checkpoints[0].bytes, 1000.0);
  EXPECT_EQ(run.memory["rank"], 1);
}

TEST(RunData, NamesTheRankThatOthersWaitFor) {
  const RunFixture fixture(10);
  fixture.event("start", {{"step", 0}, {"steps", 30}, {"ranks", 4}});
  fixture.event("stop", {{"step", 4}, {"by", "SIGUSR1"}, {"unsaved", ""}});
  fixture.event("straggler", {{"step", 4}, {"text", "the others wait for rank 2"}});
  const RunData run = read_run(fixture.directory());
  ASSERT_EQ(run.events.size(), 3U);
  EXPECT_TRUE(run.ended);
  const auto found = std::ranges::find(run.events, "straggler", &RunEvent::kind);
  ASSERT_NE(found, run.events.end());
  EXPECT_EQ(found->text, "the others wait for rank 2");
}

TEST(RunData, NamesSkippedStepsSpikesAndRollbacks) {
  const TempDirectory directory;
  directory.file("metrics.jsonl",
                 R"({"step":0,"loss":null,"grad_norm":null,"skipped":true}
{"step":1,"loss":9.0,"loss_spike":true}
{"event":"rollback","step":1,"spike_step":1}
{"step":2,"loss":3.0}
)");
  const RunData run = read_run(directory.path());
  EXPECT_EQ(run.skipped, 1);
  EXPECT_EQ(run.spikes, 1);
  EXPECT_THAT(run.curve("loss").y, ElementsAre(9.0, 3.0));
  ASSERT_EQ(run.events.size(), 3U);
  EXPECT_EQ(run.events[0].kind, "skipped");
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("job.json is missing")));
}

// Files as a run leaves them that is killed at any moment.
TEST(RunData, ACutLineIsNamedAndLeftOut) {
  const RunFixture fixture(3);
  std::ofstream(fixture.file("metrics.jsonl"), std::ios::app) << R"({"step":3,"loss":2.)";
  std::ofstream(fixture.file("job.json")) << R"({"run": {)";
  fixture.event("start", {{"steps", 9}});
  std::ofstream(fixture.file(events_file), std::ios::app) << R"({"event":"sto)";
  const RunData run = read_run(fixture.directory());
  EXPECT_EQ(run.curve("loss").y.size(), 3U);
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("events.jsonl: 1 line(s) are no JSON"),
                                     HasSubstr("metrics.jsonl: 1 line(s) are no JSON"),
                                     HasSubstr("job.json is no JSON object")));
  EXPECT_EQ(run.steps, 9);
}

TEST(RunData, AnEventOfAnotherShapeIsNamed) {
  const RunFixture fixture(3);
  fixture.event("start", {{"steps", "many"}});
  EXPECT_THAT(read_run(fixture.directory()).notes,
              ElementsAre(HasSubstr("events.jsonl is not as triax writes it")));
}

TEST(RunData, ADirectoryWithoutARunIsRefused) {
  const TempDirectory directory;
  EXPECT_THAT(error_of([&] { read_run(directory.path("absent")); }),
              HasSubstr("there is no directory"));
  EXPECT_THAT(error_of([&] { read_run(directory.path()); }), HasSubstr("holds no run"));
  directory.file("job.json", "{}");
  EXPECT_THAT(read_run(directory.path()).notes, ElementsAre(HasSubstr("has no step yet")));
}

TEST(Envelope, HidesNoExtreme) {
  Series series;
  for (int i = 0; i < 100'000; ++i) series.add(i, i == 54'321 ? 77.0 : 1.0);
  const auto points = envelope(series, 400);
  ASSERT_EQ(points.size(), 400U);
  EXPECT_EQ(points.front().first, 0.0);
  EXPECT_EQ(points.back().last, 99'999.0);
  EXPECT_EQ(std::ranges::count(points, 77.0, &EnvelopePoint::most), 1);
  for (std::size_t i = 1; i < points.size(); ++i)
    EXPECT_EQ(points[i].first, points[i - 1].last + 1.0);
  EXPECT_EQ(envelope(Series{}, 5).size(), 0U);
}

TEST(Scale, TicksAreRoundAndInside) {
  EXPECT_THAT(ticks(scale_for(0.0, 10.0, false), 5), ElementsAre(0, 2, 4, 6, 8, 10));
  for (const double tick : ticks(scale_for(2.1234, 5.2, false), 5)) {
    EXPECT_GE(tick, 2.1234);
    EXPECT_LE(tick, 5.2 + 1e-9);
  }
  EXPECT_THAT(ticks(scale_for(0.5, 2000.0, true), 5), ElementsAre(1, 10, 100, 1000));
  EXPECT_NEAR(scale_for(1.0, 100.0, true).position(10.0), 0.5, 1e-12);
  EXPECT_FALSE(scale_for(-1.0, 100.0, true).logarithmic);
  EXPECT_GT(scale_for(3.0, 3.0, false).most, 3.0) << "a curve of one value has an axis too";
}

}  // namespace
}  // namespace triax::test
