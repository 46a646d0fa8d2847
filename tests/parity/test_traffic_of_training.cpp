// SPDX-License-Identifier: Apache-2.0
// Bytes reported per step and axis equal the prediction from the model's sizes (ring formulas,
// src/comm/interface/traffic.hpp), summed over all ranks. A plan's messages and memory equal what
// the run counts.
#include <gtest/gtest.h>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t float_bytes = 4;

StepMetrics one_step(const GoldenCase& golden, const Layout& layout) {
  return train(MPI_COMM_WORLD, golden_job(golden, layout), 1).front();
}

// Bytes of all parameters, padded in memory: stage 0 of one rank.
std::int64_t weight_bytes(const GoldenCase& golden) {
  const LoadedJob job = load(golden_job(golden, {.data = world_size(), .micro = 1}), world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  const Stage stage(job.config.model, {}, golden.sequence_length);
  const ParameterStore store(stage, grid,
                             state_options(on_grid(job.config, grid), grid.data_rank()));
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
       {0, 1})  // ZeRO-1: a reduce-scatter of the gradients and an all-gather of the weights
    for (const int micro : {1, 2}) {
      const StepMetrics step =
          one_step(golden, {.data = world_size(), .micro = micro, .zero = zero});
      EXPECT_EQ(step.bytes_sent_data, 2 * (n - 1) * bytes)
          << "ZeRO " << zero << ", micro-batches of " << micro;
      EXPECT_EQ(step.bytes_sent_tensor, 0);
      EXPECT_EQ(step.bytes_sent_pipeline, 0);
    }
}

// Without accumulation (Rajbhandari et al. 2020): a reduce-scatter of the gradients and an
// all-gather of the weights up to ZeRO-2, and one more all-gather in ZeRO-3, which gathers for the
// forward and for the backward pass. There the first and the last layer are gathered once: the
// embedding is read in the forward pass only, and the head's two passes follow each other. (A tied
// table is gathered for both, so twice.)
TEST(TrafficOfTraining, EachStageSendsWhatItsAuthorsCount) {
  const std::int64_t n = world_size();
  for (const char* name : {"gpt2-tiny", "llama-tiny"})
    for (const int zero : {0, 1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{}, ZeRO {}", name, zero));
      const GoldenCase golden = read_golden(name);
      const Layout layout{
          .data = world_size(), .micro = static_cast<int>(golden.global_batch / n), .zero = zero};
      const LoadedJob job = load(golden_job(golden, layout), world_size());
      ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
      Trainer trainer(job, grid);
      std::int64_t bytes = 0, gathered_once = 0;
      for (const ParameterBlock& block : trainer.store().blocks()) {
        bytes += float_bytes * block.elements;
        const int first = block.params.front().uses.front().layer;
        if (block.content == BlockContent::tied_embedding) continue;
        if (first == 0 || first > job.config.model.layers)
          gathered_once += float_bytes * block.elements;
      }
      EXPECT_GT(gathered_once, 0);
      EXPECT_LT(gathered_once, bytes / 2);
      const std::int64_t trips = zero == 3 ? 3 * bytes - gathered_once : 2 * bytes;
      EXPECT_EQ(trainer.train_step(0).bytes_sent_data, (n - 1) * trips);
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
  // Forward: the embedding, and attention and MLP of each layer; backward: the same layers, and the
  // head.
  const std::int64_t sums = (1 + 2 * layers) + (2 * layers + 1);
  const std::int64_t statistics = rows * 3 * n * float_bytes;  // softmax statistics, gathered
  const StepMetrics step =
      one_step(golden, {.tensor = world_size(), .micro = 2, .sequence_parallel = false});
  EXPECT_EQ(step.bytes_sent_tensor, sums * 2 * (n - 1) * activation + (n - 1) * statistics);
  EXPECT_EQ(step.bytes_sent_data, 0);
  EXPECT_EQ(step.bytes_sent_pipeline, 0);
}

// Layouts for every rank of the test that change messages: stages and chunks, sequence parallelism,
// ZeRO, accumulation, recomputation.
std::vector<Layout> layouts() {
  const int n = world_size();
  std::vector<Layout> all = {
      {.data = n, .micro = 1},
      {.tensor = n, .micro = 2, .sequence_parallel = false},
      {.tensor = n, .micro = 1, .recompute = 99},
      {.pipeline = n, .micro = 1},
      {.pipeline = n, .schedule = "gpipe", .micro = 1, .recompute = 1},
      {.pipeline = n, .schedule = "zero-bubble", .micro = 1},
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

// Trains the job, compares it with the plan, and returns what the rank has allocated.
Allocations expect_as_planned(const nlohmann::json& text) {
  LoadedJob job = load(text, world_size());
  job.config.checkpoint.async = AsyncWrites::on;
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  const JobPlan plan = plan_job(on_grid(job.config, grid));
  Trainer trainer(job, grid);
  const Stage stage = make_stage(plan.config, grid.pipeline_rank(), grid.tensor_rank());
  Allocations planned = planned_allocations(plan.config, plan.steps, stage);
  // Only the first shard group writes.
  if (data_shard(plan.config, grid.data_rank()).group > 0) planned.snapshot = 0;
  EXPECT_EQ(trainer.allocations(), planned);
  const StepMetrics metrics = trainer.train_step(0);
  const auto expect = [&](Axis axis, std::int64_t messages, std::int64_t bytes) {
    const Traffic planned = plan.messages.along(axis).total();
    EXPECT_EQ(messages, static_cast<std::int64_t>(planned.messages)) << name_of(axis);
    EXPECT_EQ(bytes, static_cast<std::int64_t>(planned.bytes)) << name_of(axis);
  };
  expect(Axis::data, metrics.messages_sent_data, metrics.bytes_sent_data);
  expect(Axis::tensor, metrics.messages_sent_tensor, metrics.bytes_sent_tensor);
  expect(Axis::pipeline, metrics.messages_sent_pipeline, metrics.bytes_sent_pipeline);
  return trainer.allocations();
}

TEST(TrafficOfTraining, MessagesAndAllocationsAreThosePlanned) {
  int jobs = 0;
  for (const std::string& name : golden_names()) {
    const GoldenCase golden = read_golden(name);
    for (const Layout& layout : layouts()) {
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(name + ", " + layout.text());
      expect_as_planned(golden_job(golden, layout));
      ++jobs;
    }
  }
  EXPECT_GT(jobs, 10);
}

// Shard groups of every size below the data axis.
TEST(TrafficOfTraining, ShardGroupsAreAsPlanned) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const int n = world_size();
  for (const Layout& layout : {Layout{.data = n, .micro = 1}, Layout{.tensor = 2, .data = n / 2},
                               Layout{.tensor = 2, .data = n / 2, .sequence_parallel = false}})
    for (int size = 1; size < layout.data; size *= 2)
      for (const int zero : {1, 2, 3}) {
        SCOPED_TRACE(fmt::format("{}, ZeRO {}, groups of {}", layout.text(), zero, size));
        auto job = golden_job(golden, layout);
        job["zero_optimization"]["stage"] = zero;
        job["zero_optimization"]["mics_shard_size"] = size;
        expect_as_planned(job);
      }
}

// No message of the gather is longer than the bucket, and the plan knows their number.
TEST(TrafficOfTraining, PiecesOfGathersAreAsPlanned) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  for (const int zero : {1, 2, 3})
    for (const int bucket : {1, 100, 5000}) {
      const Layout layout{.data = world_size(), .micro = 1, .zero = zero};
      SCOPED_TRACE(fmt::format("{}, buckets of {}", layout.text(), bucket));
      auto job = golden_job(golden, layout);
      job["zero_optimization"]["stage3_param_persistence_threshold"] = 5000;
      job["zero_optimization"]["allgather_bucket_size"] = bucket;
      if (bucket == 5000) expect_as_planned(job);
      const PlacedConfig config{load(job, world_size()).config, {}};
      const Stage stage = make_stage(config, 0, 0);
      for (const ParameterBlock& block : lay_out_blocks(stage, data_shard(config, 0))) {
        if (block.sharded()) continue;
        std::int64_t gathered = 0;
        for (int piece = 0; piece < gathers_of(block); ++piece) {
          const FlatRange run = gathered_run(block, piece);
          EXPECT_EQ(run.begin, gathered);
          gathered = run.end;
          EXPECT_GT(run.count(), 0);
          EXPECT_LE(run.count() * world_size(), std::max(bucket, world_size()));
        }
        EXPECT_EQ(gathered, block.own.count());
      }
    }
}

// 16-bit types halve the bytes of activations and parameters, and add a master copy.
TEST(TrafficOfTraining, TypesOfSixteenBitsAreAsPlanned) {
  const int n = world_size();
  for (const GoldenCase& golden : {read_golden("gpt2-tiny"), read_golden("qwen2-frozen")})
    for (const char* type : {"bf16", "fp16"})
      for (const bool wide : {false, true})
        for (Layout layout :
             {Layout{.data = n, .zero = 3}, Layout{.data = n, .zero = 1}, Layout{.tensor = n},
              Layout{.tensor = n, .sequence_parallel = false}, Layout{.pipeline = n}}) {
          layout.type = type;
          SCOPED_TRACE(layout.text());
          auto job = golden_job(golden, layout);
          if (wide) job["data_types"] = {{"grad_accum_dtype", "fp32"}};
          EXPECT_GT(expect_as_planned(job).optimizer.master, 0);
        }
}

TEST(TrafficOfTraining, PartsOfRecomputedInputsAreAsPlanned) {
  const int n = world_size();
  for (const char* name : {"gpt2-tiny", "llama-odd"})
    for (const char* type : {"f32", "bf16"})
      for (const bool pipelined : {false, true}) {
        const GoldenCase golden = read_golden(name);
        const Layout layout{.tensor = pipelined ? n / 2 : n,
                            .pipeline = pipelined ? 2 : 1,
                            .sequence_parallel = false,
                            .recompute = 99,
                            .partition = true,
                            .type = type};
        if (layout.tensor == 1 || !carries(golden, layout)) continue;
        SCOPED_TRACE(name + (", " + layout.text()));
        expect_as_planned(golden_job(golden, layout));
      }
}

TEST(TrafficOfTraining, WhatIsInStoresIsAsPlanned) {
  const SharedDirectory directory;
  const nlohmann::json disk = {{"device", "nvme"}, {"nvme_path", directory.path()}};
  for (const GoldenCase& golden : {read_golden("gpt2-tiny"), read_golden("gpt2-frozen")})
    for (const char* type : {"f32", "bf16"})
      for (const int zero : {1, 3})
        for (const double ratio : {1.0, 0.5}) {
          const Layout layout{.data = world_size(), .zero = zero, .type = type};
          SCOPED_TRACE(fmt::format("{}, ratio {}", layout.text(), ratio));
          auto job = golden_job(golden, layout);
          auto& section = job["zero_optimization"];
          section["sub_group_size"] = 2000;
          section["offload_optimizer"] = disk;
          section["offload_optimizer"]["ratio"] = ratio;
          if (zero == 3) {
            section["offload_param"] = disk;
            section["offload_param"]["max_in_cpu"] = 0;
          }
          const Allocations found = expect_as_planned(job);
          EXPECT_GT(found.optimizer.stored_moments, 0);
          EXPECT_EQ(found.optimizer.stored_master > 0, std::string(type) == "bf16");
          EXPECT_EQ(found.optimizer.moments == 0, ratio == 1.0);
          EXPECT_EQ(found.state.stored.stored > 0, zero == 3);
          EXPECT_GT(found.optimizer.buffers, 0);
          MPI_Barrier(MPI_COMM_WORLD);
        }
}

}  // namespace
}  // namespace triax::test
