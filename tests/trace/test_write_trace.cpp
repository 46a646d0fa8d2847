// SPDX-License-Identifier: Apache-2.0
#include "src/trace/write_trace.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "src/trace/clock_offset.hpp"
#include "src/trace/read_trace.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/trace/traced_run.hpp"

namespace triax::test {
namespace {

using nlohmann::json;

class WriteTrace : public ::testing::Test {
 protected:
  WriteTrace() {
    job_ = traced_job_of(traced_layout(world_size()), directory_.path("run"));
    train_to_the_end(job_);
    path_ = directory_.path("run/trace.json");
  }
  SharedDirectory directory_;
  json job_;
  std::string path_;
};

// Ends of arrows by number, and slices by row.
struct Events {
  std::map<std::int64_t, std::vector<json>> arrows;
  std::map<std::pair<int, int>, std::vector<json>> rows;
  explicit Events(const std::string& path) {
    std::ifstream in(path);
    const json trace = json::parse(in);
    for (const json& event : trace["traceEvents"]) {
      if (event.contains("ts")) {
        EXPECT_GE(event["ts"].get<double>(), 0.0);
      }
      if (event["ph"] == "X") rows[{event["pid"], event["tid"]}].push_back(event);
      if (event["ph"] == "s" || event["ph"] == "f") arrows[event["id"]].push_back(event);
    }
  }
};

TEST_F(WriteTrace, HasEveryInstructionOfThePlanOfEachRank) {
  const PlacedConfig config = on_nodes(load(job_, world_size()).config, 0);
  const StepPlans plans = step_plans(config);
  const RunTrace trace = read_trace(path_);
  ASSERT_EQ(static_cast<int>(trace.ranks.size()), world_size());
  EXPECT_EQ(trace.steps, (TraceSteps{1, 3}));
  for (int rank = 0; rank < world_size(); ++rank) {
    const int stage = grid_shape(config.parallel).coordinate(rank, Axis::pipeline);
    const Plan& plan = plans.training[static_cast<std::size_t>(stage)];
    const RankTrace& own = trace.ranks[static_cast<std::size_t>(rank)];
    ASSERT_EQ(own.steps.size(), 2U);
    ASSERT_EQ(own.ops.size(), 2 * plan.size());
    for (std::size_t at = 0; at < own.ops.size(); ++at) {
      const TracedOp& op = own.ops[at];
      EXPECT_EQ(op.name, text_of(plan[at % plan.size()]));
      EXPECT_EQ(op.step, at < plan.size() ? 1 : 2);
      EXPECT_LE(op.begin, op.end);
      if (at > 0) {
        EXPECT_GE(op.begin, own.ops[at - 1].end - 2e-9);
      }
    }
  }
  EXPECT_GT(trace.step_seconds(), 0.0);
}

TEST_F(WriteTrace, SlicesOfARowNestOrAreApart) {
  const Events events(path_);
  ASSERT_FALSE(events.rows.empty());
  for (const auto& entry : events.rows) {
    std::vector<std::pair<double, double>> slices;
    for (const json& slice : entry.second)
      slices.emplace_back(slice["ts"].get<double>(),
                          slice["ts"].get<double>() + slice["dur"].get<double>());
    std::ranges::sort(slices, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open;
    for (const auto& slice : slices) {
      while (!open.empty() && open.back() <= slice.first + 1e-3) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(slice.second, open.back() + 2e-3);
      }
      open.push_back(slice.second);
    }
  }
}

TEST_F(WriteTrace, AnArrowLeadsFromEachSendToItsReceive) {
  const Events events(path_);
  const PlacedConfig config = on_nodes(load(job_, world_size()).config, 0);
  const StepPlans plans = step_plans(config);
  std::size_t messages = 0;  // of both steps
  for (int rank = 0; rank < world_size(); ++rank)
    for (const Op& op : plans.training[static_cast<std::size_t>(
             grid_shape(config.parallel).coordinate(rank, Axis::pipeline))])
      if (op.kind == OpKind::SendActivationStart || op.kind == OpKind::SendGradientStart)
        messages += 2;
  EXPECT_EQ(messages > 0, world_size() > 1);
  EXPECT_EQ(events.arrows.size(), messages);
  for (const auto& entry : events.arrows) {
    ASSERT_EQ(entry.second.size(), 2U);
    const bool first_sends = entry.second[0]["ph"] == "s";
    const json& from = entry.second[first_sends ? 0 : 1];
    const json& to = entry.second[first_sends ? 1 : 0];
    EXPECT_EQ(to["ph"], "f");
    EXPECT_NE(from["pid"], to["pid"]);
    EXPECT_LE(from["ts"].get<double>(), to["ts"].get<double>() + 1e-3);
  }
}

TEST(ClockOffsets, RanksOfANodeShareAClock) {
  ProcessGrid grid(MPI_COMM_WORLD, {.data = world_size()}, {});
  const std::vector<std::int64_t> same = clock_offsets(grid);
  EXPECT_EQ(same.size(), grid.rank() == 0 ? static_cast<std::size_t>(world_size()) : 0U);
  for (const std::int64_t offset : same) EXPECT_EQ(offset, 0);
}

// Ranks are said to be on nodes of their own, though their clock is the same.
TEST(ClockOffsets, OfTwoNodesAreNearTheTruth) {
  std::vector<int> nodes;
  for (int rank = 0; rank < world_size(); ++rank) nodes.push_back(rank);
  ProcessGrid grid(MPI_COMM_WORLD, {.data = world_size()}, nodes);
  for (const std::int64_t offset : clock_offsets(grid)) EXPECT_LT(std::abs(offset), 200'000'000);
}

TEST(Trace, AFileThatCannotBeWrittenDoesNotEndTheRun) {
  const SharedDirectory directory;
  json job = traced_job_of(traced_layout(world_size()), directory.path("run"));
  if (world_rank() == 0) std::filesystem::create_directories(directory.path("run/trace.json.tmp"));
  MPI_Barrier(MPI_COMM_WORLD);
  train_to_the_end(job);
  EXPECT_EQ(metrics_of(directory.path("run")).size(), 4U);
  EXPECT_FALSE(std::filesystem::exists(directory.path("run/trace.json")));
}

}  // namespace
}  // namespace triax::test
