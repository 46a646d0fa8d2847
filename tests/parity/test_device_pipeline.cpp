// SPDX-License-Identifier: Apache-2.0
// Pipelines on devices whose stages exchange messages by NCCL (fake_nccl.hpp): losses as on the
// host, messages as planned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/device_jobs.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = 2;

class NcclPipeline : public DeviceTest {};

std::vector<Layout> layouts() {
  if (world_size() == 2)
    return {{.pipeline = 2},
            {.pipeline = 2, .schedule = "zero-bubble", .recompute = 1},
            {.pipeline = 2, .schedule = "gpipe", .recompute = 1},
            {.pipeline = 2, .schedule = "gpipe", .chunks = 3},
            {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .recompute = 9},
            {.pipeline = 2, .schedule = "interleaved", .chunks = 4, .type = "bf16"}};
  return {{.pipeline = 4},
          {.pipeline = 4, .schedule = "gpipe"},
          {.pipeline = 4, .schedule = "gpipe", .chunks = 2},
          {.pipeline = 4, .schedule = "interleaved", .chunks = 2},
          {.tensor = 2, .pipeline = 2},
          {.tensor = 2,
           .pipeline = 2,
           .schedule = "interleaved",
           .chunks = 2,
           .sequence_parallel = false,
           .recompute = 9,
           .partition = true},
          {.pipeline = 2, .data = 2, .zero = 1},
          {.pipeline = 2, .data = 2, .zero = 2},
          {.pipeline = 2, .data = 2, .schedule = "interleaved", .chunks = 2, .zero = 3},
          {.pipeline = 2, .data = 2, .schedule = "gpipe", .chunks = 2, .zero = 3, .recompute = 9}};
}

// A small job, because the emulated device is slow, with one layer per chunk.
nlohmann::json job_of(const Layout& layout) {
  auto job = golden_job(read_golden("gpt2-tiny"), layout);
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 8},      {"n_head", 2},
                  {"n_embd", 16},           {"n_positions", 16}, {"vocab_size", 256}};
  job["data"]["seq_length"] = 8;
  return job;
}

void expect_traffic(const StepMetrics& step, const MessagePlan& planned) {
  const auto expect = [&](Axis axis, std::int64_t messages, std::int64_t bytes) {
    const Traffic traffic = planned.along(axis).total();
    EXPECT_EQ(messages, static_cast<std::int64_t>(traffic.messages)) << name_of(axis);
    EXPECT_EQ(bytes, static_cast<std::int64_t>(traffic.bytes)) << name_of(axis);
  };
  expect(Axis::data, step.messages_sent_data, step.bytes_sent_data);
  expect(Axis::tensor, step.messages_sent_tensor, step.bytes_sent_tensor);
  expect(Axis::pipeline, step.messages_sent_pipeline, step.bytes_sent_pipeline);
  EXPECT_GT(step.bytes_sent_pipeline, 0);
}

// A dry run, without ranks, plans the same.
void expect_predicted(const JobPlan& plan, const Config& config) {
  const JobPlan predicted = plan_job(on_nodes(config, 0));
  EXPECT_EQ(predicted.steps.training, plan.steps.training);
  for (const Plan& stage : plan.steps.training)
    EXPECT_NE(std::ranges::find(stage, Op{OpKind::ExchangeBegin}), stage.end());
  EXPECT_EQ(predicted.memory.of(world_rank()).device, plan.memory.of(world_rank()).device);
  EXPECT_EQ(plan.memory.of(world_rank()).host.communication, 0);
}

TEST_F(NcclPipeline, HasTheLossesOfTheHostAndTheMessagesOfItsPlan) {
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.text());
    const auto job = job_of(layout);
    const LoadedJob loaded = load(on_device(job), world_size());
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
    EXPECT_THAT(grid.devices(), testing::HasSubstr("messages by NCCL"));
    const JobPlan plan = plan_job(on_grid(loaded.config, grid));
    expect_predicted(plan, loaded.config);
    const auto there = train(grid, loaded, steps);
    const auto here = train(MPI_COMM_WORLD, on_host(job), steps);
    const bool rounds = layout.type != "f32";
    for (std::size_t s = 0; s < here.size(); ++s) {
      EXPECT_NEAR(there[s].loss, here[s].loss, (rounds ? 1e-3 : 2e-6) * here[s].loss);
      EXPECT_NEAR(there[s].grad_norm, here[s].grad_norm,
                  (rounds ? 1e-2 : 1e-5) * here[s].grad_norm);
      expect_traffic(there[s], plan.messages);
      EXPECT_EQ(there[s].bytes_sent_pipeline, here[s].bytes_sent_pipeline);
    }
    EXPECT_EQ(grid.staging_bytes(), 0) << "nothing goes through host memory";
  }
}

TEST_F(NcclPipeline, EvaluatesWhatTheHostDoes) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const SharedDirectory directory;
  for (const bool chunks : {false, true}) {
    Layout layout{.pipeline = world_size()};
    if (chunks) layout = {.pipeline = world_size(), .schedule = "interleaved", .chunks = 2};
    SCOPED_TRACE(layout.text());
    auto job = job_of(layout);
    job["data"]["valid"] = {golden.directory + "/tokens.bin"};
    job["run"]["steps"] = 2;
    job["run"]["eval_interval"] = 1;
    job["run"]["eval_steps"] = 2;
    std::vector<double> losses[2];
    for (const bool device : {false, true}) {
      job["run"]["directory"] =
          directory.path(fmt::format("{}-{}", device ? "device" : "host", layout.chunks));
      train_to_the_end(device ? on_device(job) : on_host(job));
      if (world_rank() == 0)
        for (const auto& line : metrics_of(job["run"]["directory"]))
          if (line.contains("valid_loss")) losses[device].push_back(line["valid_loss"]);
    }
    if (world_rank() != 0) continue;
    ASSERT_EQ(losses[1].size(), losses[0].size());
    ASSERT_GE(losses[0].size(), 2U);
    for (std::size_t i = 0; i < losses[0].size(); ++i)
      EXPECT_NEAR(losses[1][i], losses[0][i], 2e-6 * losses[0][i]);
  }
}

}  // namespace
}  // namespace triax::test
