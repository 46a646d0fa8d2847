// However a run writes its checkpoints, they are the same, and so is the run.
#include <algorithm>
#include <filesystem>

#include "io/checkpoint_diff.hpp"
#include "io/checkpoint_verify.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;

Layout layout() {
  if (world_size() == 4) return {.tensor = 2, .data = 2, .micro = 2, .zero = 1};
  if (world_size() == 2) return {.data = 2, .micro = 2, .zero = 2};
  return {.micro = 2};
}

nlohmann::json job_in(const std::string& directory, bool bf16) {
  auto job = golden_job(read_golden("gpt2-tiny"), layout());
  if (bf16) job["bf16"] = {{"enabled", true}};
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 6;
  job["checkpoint"] = {{"resume", "never"}, {"interval", 2}, {"keep", 0}};
  return job;
}

std::vector<std::string> checkpoints_of(const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string& path : list_checkpoints(directory + "/checkpoints"))
    names.push_back(std::filesystem::path(path).filename());
  return names;
}

// As many, undamaged, with the same bits in every tensor.
void expect_same_checkpoints(const std::string& run, const std::string& other) {
  ASSERT_EQ(checkpoints_of(run), checkpoints_of(other));
  for (const std::string& file : checkpoints_of(run)) {
    const std::string path = run + "/checkpoints/" + file;
    EXPECT_TRUE(verify_checkpoint(path, MPI_COMM_WORLD).damaged.empty());
    EXPECT_FALSE(
        diff_checkpoints(path, other + "/checkpoints/" + file, false, MPI_COMM_WORLD).tensors);
  }
}

TEST(RunCheckpoints, AreTheSameHoweverTheyAreWritten) {
  const bool bf16 = world_size() == 2;
  const SharedDirectory directory;
  const auto run = [&](const std::string& name, const nlohmann::json& settings) {
    auto job = job_in(directory.path(name), bf16);
    job["checkpoint"].update(settings);
    train_to_the_end(job);
    return directory.path(name);
  };
  const std::string direct = run("direct", {{"async", false}});
  ASSERT_THAT(checkpoints_of(direct),
              ElementsAre("step-000006.h5", "step-000004.h5", "step-000002.h5"));
  const std::vector<std::pair<std::string, nlohmann::json>> others = {
      {"async", {{"async", true}}},
      {"parts", {{"async", true}, {"files", 3}}},
      {"collective", {{"collective", true}}}};
  for (const auto& [name, settings] : others) {
    SCOPED_TRACE(name);
    const std::string other = run(name, settings);
    expect_resumed(metrics_of(other), metrics_of(direct), 0, 0.0, 0.0);
    expect_same_checkpoints(other, direct);
  }
}

// State on a disk comes in parts, whose ends cut tensors. Those of the model are large enough for a
// part of one to be moved in its page of a copy.
TEST(RunCheckpoints, OfStateOnADiskAreTheSameHoweverTheyAreWritten) {
  const SharedDirectory directory;
  const bool bf16 = world_size() == 2;
  const auto run = [&](const std::string& name, bool async, double share) {
    auto job = job_in(directory.path(name), bf16);
    job["model"] = {{"architecture", "gpt2"}, {"n_layer", 1},       {"n_head", 4},
                    {"n_embd", 192},          {"n_positions", 128}, {"vocab_size", 256}};
    job["run"]["steps"] = 2;
    job["checkpoint"].update({{"async", async}, {"interval", 1}});
    if (share > 0) {
      offload_optimizer(job, directory.path());
      job["zero_optimization"]["offload_optimizer"]["ratio"] = share;
      job["zero_optimization"]["sub_group_size"] = 17 * 1024;
    }
    train_to_the_end(job);
    return directory.path(name);
  };
  const std::string memory = run("memory", false, 0.0);
  ASSERT_THAT(checkpoints_of(memory), ElementsAre("step-000002.h5", "step-000001.h5"));
  const std::vector<std::string> others = {run("direct", false, 1.0), run("async", true, 1.0),
                                           run("half", true, 0.5)};
  for (const std::string& other : others) {
    SCOPED_TRACE(other);
    expect_resumed(metrics_of(other), metrics_of(memory), 0, 0.0, 0.0);
    expect_same_checkpoints(other, memory);
  }
}

// A file that is still being written when the next is due is waited for; so is the last.
TEST(RunCheckpoints, OneEachStepInTheBackgroundIsPossible) {
  const SharedDirectory directory;
  auto job = job_in(directory.path("run"), false);
  job["checkpoint"].update({{"async", true}, {"interval", 1}, {"at_end", false}});
  train_to_the_end(job);
  EXPECT_EQ(checkpoints_of(directory.path("run")).size(), 6U);
}

// The update follows at once, and begins with what is copied last: it has to wait. Values were 0.
TEST(RunCheckpoints, WhatIsUpdatedAfterTheStartIsNotInTheFile) {
  const SharedDirectory directory;
  auto job = job_in(directory.path("run"), false);
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 4},       {"n_head", 4},
                  {"n_embd", 256},          {"n_positions", 128}, {"vocab_size", 256}};
  job["parallel"] = {{"data", world_size()}};
  job["zero_optimization"] = {{"stage", 1}};
  job["checkpoint"]["async"] = true;
  const LoadedJob loaded = load(job, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
  const PlacedConfig config = on_grid(loaded.config, grid);
  const Stage stage = make_stage(config, 0, 0);
  ParameterStore store(stage, grid, state_options(config, grid.data_rank()));
  Optimizer optimizer(store, config.optimizer, 0.0);
  RunCheckpoints checkpoints(config, loaded.resolved, grid, store, optimizer);
  const Stream stream;
  for (int b = 0; b < std::ssize(store.blocks()); ++b) {
    const BlockView& gradients = store.gradients(b);
    std::fill_n(gradients.data.as<float>(), gradients.range.count(), 1.0F);
  }
  optimizer.gradient_norm(stream, grid.world());
  checkpoints.start(stream, {.step = 1}, "");
  for (int b = static_cast<int>(store.blocks().size()) - 1; b >= 0; --b)
    optimizer.step(stream, b, -1, {.learning_rate = 1.0});
  checkpoints.finish();
  EXPECT_NE(store.weights(0).data.as<float>()[store.blocks()[0].own.begin], 0.0F);

  const CheckpointReader reader(directory.path("run") + "/checkpoints/step-000001.h5");
  for (const CheckpointTensor& tensor : reader.tensors()) {
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
    reader.read(tensor.name, {{{}, tensor.shape}}, Tensor(values.data(), {std::ssize(values)}));
    EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return value == 0.0F; }))
        << tensor.name;
  }
}

TEST(RunCheckpoints, ACopyIsMadeWhereTheJobLeavesItOpen) {
  const SharedDirectory directory;
  const auto allocated = [&](const nlohmann::json& settings) {
    auto job = job_in(directory.path("run"), false);
    job["checkpoint"].update(settings);
    const LoadedJob loaded = load(job, world_size());
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, loaded.config);
    return Trainer(loaded, grid).allocations().snapshot;
  };
  EXPECT_GT(allocated(nlohmann::json::object()), 0);
  EXPECT_EQ(allocated({{"async", false}}), 0);
  EXPECT_EQ(allocated({{"interval", 0}}), 0);
  EXPECT_EQ(allocated({{"collective", true}}), 0);
}

}  // namespace
}  // namespace triax::test
