// The bytes that a step reports by axis are those that the model's sizes predict (ring formulas,
// src/comm/traffic.hpp), summed over all ranks; and what a job's plan says of messages and memory
// before the run is what the run counts.
#include <gtest/gtest.h>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t float_bytes = 4;

StepMetrics one_step(const GoldenCase& golden, const Layout& layout) {
  return train(MPI_COMM_WORLD, golden_job(golden, layout), 1).front();
}

// Bytes of every parameter, padded to whole blocks in memory: of stage 0 of one rank.
std::int64_t weight_bytes(const GoldenCase& golden) {
  const LoadedJob job = load(golden_job(golden, {.data = world_size(), .micro = 1}), world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  const Stage stage(job.config.model, {}, golden.sequence_length);
  const ParameterStore store(stage, grid, {});
  std::int64_t parameters = 0;
  for (const GlobalTensor& tensor : global_tensors(job.config.model))
    parameters += tensor.shape.elements();
  EXPECT_GE(store.bytes().parameters, float_bytes * parameters);
  EXPECT_LE(store.bytes().parameters,
            float_bytes * (parameters + 16 * (64 + world_size() * std::ssize(store.blocks()))));
  return store.bytes().parameters;
}

TEST(TrafficOfTraining, DataParallelSendsEachGradientOnce) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const std::int64_t n = world_size();
  const std::int64_t bytes = weight_bytes(golden);
  for (const int zero :
       {0, 1})  // ZeRO 1: a reduce-scatter of the gradients and an all-gather of the weights
    for (const int micro : {1, 2}) {
      const StepMetrics step =
          one_step(golden, {.data = world_size(), .micro = micro, .zero = zero});
      EXPECT_EQ(step.bytes_sent_data, 2 * (n - 1) * bytes)
          << "ZeRO " << zero << ", micro-batches of " << micro;
      EXPECT_EQ(step.bytes_sent_tensor, 0);
      EXPECT_EQ(step.bytes_sent_pipeline, 0);
    }
}

TEST(TrafficOfTraining, PipelineSendsActivationsAndTheirGradients) {
  const GoldenCase golden = read_golden("llama-tiny");  // untied: nothing else is sent
  const std::int64_t n = world_size();
  const std::int64_t activation =
      golden.global_batch * golden.sequence_length * 64 * float_bytes;  // (B, T, E)
  const StepMetrics step = one_step(golden, {.pipeline = world_size(), .micro = 1});
  EXPECT_EQ(step.bytes_sent_pipeline, 2 * (n - 1) * activation);
  EXPECT_EQ(step.bytes_sent_tensor, 0);
  EXPECT_EQ(step.bytes_sent_data, 0);
  if (n != 2) return;  // 4 layers
  const StepMetrics interleaved =
      one_step(golden, {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 1});
  EXPECT_EQ(interleaved.bytes_sent_pipeline, 2 * 3 * activation);
}

TEST(TrafficOfTraining, TensorParallelSumsActivationsTwiceALayerAndPass) {
  if (world_size() != 2) GTEST_SKIP() << "key/value heads of this model are shared by more ranks";
  const GoldenCase golden = read_golden("llama-tiny");
  const std::int64_t n = world_size();
  const std::int64_t rows = golden.global_batch * golden.sequence_length;
  const std::int64_t activation = rows * 64 * float_bytes;
  const std::int64_t layers = 4;
  // Forward: the embedding, and attention and MLP of each layer; backward: those, and the head.
  const std::int64_t sums = (1 + 2 * layers) + (2 * layers + 1);
  const std::int64_t statistics = rows * 3 * n * float_bytes;  // of the softmax, gathered
  const StepMetrics step =
      one_step(golden, {.tensor = world_size(), .micro = 2, .sequence_parallel = false});
  EXPECT_EQ(step.bytes_sent_tensor, sums * 2 * (n - 1) * activation + (n - 1) * statistics);
  EXPECT_EQ(step.bytes_sent_data, 0);
  EXPECT_EQ(step.bytes_sent_pipeline, 0);
}

// Places for every rank of the test, with what changes messages: stages and chunks, sequence
// parallelism, ZeRO, accumulation, recomputation.
std::vector<Layout> layouts() {
  const int n = world_size();
  std::vector<Layout> all = {
      {.data = n, .micro = 1},
      {.tensor = n, .micro = 2, .sequence_parallel = false},
      {.tensor = n, .micro = 1, .recompute = 99},
      {.pipeline = n, .micro = 1},
      {.pipeline = n, .schedule = "gpipe", .micro = 1, .recompute = 1},
      {.pipeline = 2, .data = n / 2, .schedule = "interleaved", .chunks = 2, .micro = 1},
  };
  for (const int zero : {1, 2, 3}) {
    all.push_back({.data = n, .micro = 1, .zero = zero, .recompute = zero == 3 ? 99 : 0});
    if (n == 2) continue;
    all.push_back({.tensor = n / 2, .data = 2, .micro = 1, .zero = zero});
    all.push_back(
        {.tensor = n / 2, .data = 2, .micro = 1, .zero = zero, .sequence_parallel = false});
    all.push_back({.pipeline = n / 2, .data = 2, .micro = 1, .zero = zero});
  }
  return all;
}

void expect_as_planned(const GoldenCase& golden, const Layout& layout) {
  const LoadedJob job = load(golden_job(golden, layout), world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  const JobPlan plan = plan_job(job.config);
  Trainer trainer(job, grid);
  const Stage stage(job.config.model,
                    stage_place(job.config.parallel, grid.pipeline_rank(), grid.tensor_rank()),
                    job.config.data.sequence_length);
  EXPECT_EQ(trainer.allocations(), planned_allocations(job.config, plan.steps, stage));
  const StepMetrics metrics = trainer.train_step(0);
  const auto expect = [&](Axis axis, std::int64_t messages, std::int64_t bytes) {
    const Traffic planned = plan.messages.along(axis).total();
    EXPECT_EQ(messages, static_cast<std::int64_t>(planned.messages)) << name_of(axis);
    EXPECT_EQ(bytes, static_cast<std::int64_t>(planned.bytes)) << name_of(axis);
  };
  expect(Axis::data, metrics.messages_sent_data, metrics.bytes_sent_data);
  expect(Axis::tensor, metrics.messages_sent_tensor, metrics.bytes_sent_tensor);
  expect(Axis::pipeline, metrics.messages_sent_pipeline, metrics.bytes_sent_pipeline);
}

TEST(TrafficOfTraining, MessagesAndAllocationsAreThosePlanned) {
  int jobs = 0;
  for (const std::string& name : golden_names()) {
    const GoldenCase golden = read_golden(name);
    for (const Layout& layout : layouts()) {
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(name + ", " + layout.text());
      expect_as_planned(golden, layout);
      ++jobs;
    }
  }
  EXPECT_GT(jobs, 10);
}

}  // namespace
}  // namespace triax::test
