// SPDX-License-Identifier: Apache-2.0
#include "src/trace/comparison.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "src/machine/presets.hpp"
#include "src/trace/measured_times.hpp"
#include "src/trace/transfers.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/error_of.hpp"
#include "tests/trace/traced_run.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

// A trace in which every instruction of the plans takes `seconds(stage, position)`.
template <class Seconds>
RunTrace trace_of(const TracedJob& job, const Seconds& seconds) {
  RunTrace trace;
  const int ranks = grid_shape(job.config.parallel).size();
  for (int rank = 0; rank < ranks; ++rank) {
    const int stage = job.stage_of(rank);
    const Plan& plan = job.plans.training[static_cast<std::size_t>(stage)];
    RankTrace own;
    double now = 0.5;
    for (std::size_t at = 0; at < plan.size(); ++at) {
      const double end = now + seconds(stage, at);
      own.ops.push_back({1, static_cast<int>(at), now, end, text_of(plan[at])});
      now = end;
    }
    own.steps.push_back({1, 0.25, now});
    trace.ranks.push_back(own);
  }
  trace.ranks_per_node = ranks;
  return trace;
}

TracedJob pipeline_job() {
  TracedJob job{golden_config({.pipeline = 2, .micro = 2}, "llama-tiny"), {}};
  job.plans = step_plans(job.config);
  return job;
}

TEST(Transfers, StartAndWaitHaveOneKey) {
  const Op start{.kind = OpKind::SendActivationStart, .chunk = 1, .microbatch = 3};
  Op wait = start;
  wait.kind = OpKind::SendActivationWait;
  ASSERT_TRUE(transfer_of(start) && transfer_of(wait));
  EXPECT_TRUE(transfer_of(start)->begins);
  EXPECT_FALSE(transfer_of(wait)->begins);
  EXPECT_EQ(transfer_of(start)->key, transfer_of(wait)->key);
  EXPECT_EQ(transfer_name(start), "send act c1 m3");
  EXPECT_FALSE(transfer_of({.kind = OpKind::Forward}));
  EXPECT_FALSE(transfer_of({.kind = OpKind::ExchangeBegin}));
}

// Every Wait of every plan finds its Start.
TEST(Transfers, OfPlansAreBegunAndEnded) {
  for (const Layout& layout : {Layout{.pipeline = 2, .micro = 1}, Layout{.data = 2, .zero = 3},
                               Layout{.data = 2, .zero = 2}}) {
    const StepPlans plans = step_plans(golden_config(layout, "llama-tiny"));
    for (const Plan& plan : plans.training) {
      std::map<Op, int> open;
      for (const Op& op : plan)
        if (const auto transfer = transfer_of(op)) open[transfer->key] += transfer->begins ? 1 : -1;
      for (const auto& entry : open) EXPECT_EQ(entry.second, 0) << text_of(entry.first);
    }
  }
}

TEST(Comparison, OfAPredictionWithItselfHasNoDifference) {
  const TracedJob job = pipeline_job();
  const Timeline predicted = predicted_by(job, *preset("h100"));
  const RunTrace trace = trace_of(job, [&](int stage, std::size_t at) {
    const StageTimes& times = predicted.stages[static_cast<std::size_t>(stage)];
    double seconds = 0.0;
    for (const auto* list : {&times.intervals, &times.waits})
      for (const OpInterval& one : *list)
        if (one.position == at) seconds += one.end - one.begin;
    return seconds;
  });
  const TraceComparison same = compare(trace, job, predicted);
  EXPECT_NEAR(same.measured - same.batch, same.predicted, 1e-9);
  EXPECT_NEAR(same.batch, 0.25, 1e-9);
  for (const ComparedTime& one : same.largest) EXPECT_NEAR(one.difference(), 0.0, 1e-9);
}

TEST(Comparison, NamesWhatTookLonger) {
  const TracedJob job = pipeline_job();
  const Plan& plan = job.plans.training[1];
  const auto slow =
      static_cast<std::size_t>(std::ranges::find(plan, OpKind::Backward, &Op::kind) - plan.begin());
  const RunTrace trace = trace_of(
      job, [&](int stage, std::size_t at) { return stage == 1 && at == slow ? 0.2 : 1e-5; });
  const TraceComparison result = compare(trace, job, predicted_by(job, *preset("h100")), 3);
  ASSERT_EQ(result.largest.size(), 3U);
  EXPECT_EQ(result.largest[0].name, text_of(plan[slow]));
  EXPECT_EQ(result.largest[0].stage, 1);
  EXPECT_NEAR(result.largest[0].measured, 0.2, 1e-9);
  const std::string text = comparison_text(result, "a test");
  EXPECT_THAT(text, HasSubstr("ms predicted"));
  EXPECT_THAT(text, HasSubstr("prediction: a test"));
  EXPECT_THAT(text, HasSubstr(text_of(plan[slow])));
  const auto json = nlohmann::json::parse(comparison_json(result, "a test"));
  EXPECT_EQ(json["largest"][0]["name"], text_of(plan[slow]));
  EXPECT_EQ(json["largest"].size(), 3U);
}

// Stage 1 waits for stage 0 in the replay, although no message takes time.
TEST(Comparison, AReplayHasTheRunsOwnDurations) {
  const TracedJob job = pipeline_job();
  const RunTrace trace = trace_of(job, [&](int stage, std::size_t at) {
    const Op& op = job.plans.training[static_cast<std::size_t>(stage)][at];
    return group_of(op.kind) == OpGroup::compute ? (stage == 0 ? 2e-3 : 1e-3) : 0.0;
  });
  const Timeline replay = replayed(job, trace);
  const auto computes = std::ranges::count_if(
      job.plans.training[0], [](const Op& op) { return group_of(op.kind) == OpGroup::compute; });
  EXPECT_NEAR(replay.stages[0].busy, 2e-3 * static_cast<double>(computes), 1e-9);
  EXPECT_GT(replay.stages[1].pipeline, 0.0);
  EXPECT_FALSE(replay.stages[1].waits.empty());
  double waited = 0.0;
  for (const OpInterval& wait : replay.stages[1].waits) waited += wait.end - wait.begin;
  EXPECT_NEAR(waited, replay.stages[1].end() - replay.stages[1].busy, 1e-9);
}

// Waiting of the run is not taken for the work of an instruction.
TEST(Comparison, AReplayDoesNotRepeatWaits) {
  const TracedJob job = pipeline_job();
  const RunTrace trace = trace_of(job, [&](int stage, std::size_t at) {
    const Op& op = job.plans.training[static_cast<std::size_t>(stage)][at];
    const auto transfer = transfer_of(op);
    const bool waits = transfer && !transfer->begins;
    return waits || (op.kind == OpKind::GradientNorm && stage == 0) ? 7.0 : 1e-3;
  });
  EXPECT_LT(replayed(job, trace).makespan, 1.0);
}

TEST(TracedJob, RefusesATraceOfAnotherPlan) {
  const TempDirectory directory;
  nlohmann::json job = traced_job_of({.pipeline = 2, .micro = 2}, directory.path("run"));
  const std::string file = directory.file("job.json", job.dump());
  const RunTrace trace = trace_of(pipeline_job(), [](int, std::size_t) { return 1e-3; });
  EXPECT_EQ(traced_job(trace, file).plans.training.size(), 2U);
  RunTrace fewer = trace;
  fewer.ranks.pop_back();
  EXPECT_THROW(traced_job(fewer, file), UsageError);
  RunTrace other = trace;
  other.ranks[0].ops[3].name = "F c0 l99 m0";
  EXPECT_THAT(error_of([&] { traced_job(other, file); }),
              testing::AllOf(HasSubstr("plan position 3 of rank 0"), HasSubstr("F c0 l99 m0")));
}

TEST(ReadTrace, SaysWhatIsWrong) {
  const TempDirectory directory;
  EXPECT_THAT(error_of([&] { read_trace(directory.path("trace.json")); }),
              HasSubstr("run.trace_steps"));
  for (const char* text : {"", "{}", R"({"displayTimeUnit":"ms","traceEvents":[
{"ph":"X","pid":0,"tid":0,"ts":1.0,"dur":1.0,"name":"step 1","cat":"step"},)"})
    EXPECT_THAT(error_of([&] { read_trace(directory.file("t.json", text)); }),
                HasSubstr("is not a trace that triax wrote"))
        << text;
}

}  // namespace
}  // namespace triax::test
