// SPDX-License-Identifier: Apache-2.0
// Checkpoints and losses are equal in every way of writing checkpoints.
#include <algorithm>
#include <filesystem>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/tools/checkpoint_diff.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/trainer/spike_job.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;

Layout layout_of_ranks() {
  if (world_size() == 4) return {.tensor = 2, .data = 2, .micro = 2, .zero = 1};
  if (world_size() == 2) return {.data = 2, .micro = 2, .zero = 2};
  return {.micro = 2};
}

nlohmann::json job_in(const std::string& directory, bool bf16) {
  auto job = golden_job(read_golden("gpt2-tiny"), layout_of_ranks());
  if (bf16) job["bf16"] = {{"enabled", true}};
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 6;
  job["checkpoint"] = {{"resume", "never"}, {"interval", 2}, {"keep", 0}};
  return job;
}

// Expects the same number of checkpoints, undamaged, with equal bits in every tensor.
void expect_same_checkpoints(const std::string& run, const std::string& other) {
  ASSERT_EQ(checkpoint_names(run), checkpoint_names(other));
  for (const std::string& file : checkpoint_names(run)) {
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
  ASSERT_THAT(checkpoint_names(direct),
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

// State on a disk comes in sub-groups whose ends cut tensors. The tensors are so large that the
// copy of a part of one begins within a page.
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
  ASSERT_THAT(checkpoint_names(memory), ElementsAre("step-000002.h5", "step-000001.h5"));
  const std::vector<std::string> others = {run("direct", false, 1.0), run("async", true, 1.0),
                                           run("half", true, 0.5)};
  for (const std::string& other : others) {
    SCOPED_TRACE(other);
    expect_resumed(metrics_of(other), metrics_of(memory), 0, 0.0, 0.0);
    expect_same_checkpoints(other, memory);
  }
}

// The run waits for a file that is still being written when the next is due, and for the last one.
TEST(RunCheckpoints, OneEachStepInTheBackgroundIsPossible) {
  const SharedDirectory directory;
  auto job = job_in(directory.path("run"), false);
  job["checkpoint"].update({{"async", true}, {"interval", 1}, {"at_end", false}});
  train_to_the_end(job);
  EXPECT_EQ(checkpoint_names(directory.path("run")).size(), 6U);
}

// The update follows at once and begins with the state that is copied last, so it has to wait.
// Initial values are 0.
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

// A job that has trained for 8 steps and continues with a learning rate at which it diverges.
nlohmann::json diverging_job(const std::string& run, const std::string& text, double rate,
                             int keep) {
  auto job = spike_job(layout_of_ranks(), text, run);
  job["run"]["steps"] = 8;
  job["run"]["loss_spike"]["action"] = "warn";
  job["checkpoint"]["keep"] = keep;
  train_to_the_end(job);
  job["run"]["steps"] = 20;
  job["optimizer"]["params"]["lr"] = rate;
  return job;
}

TEST(RunCheckpoints, TheNewestFromBeforeADivergenceStaysBesideThoseThatAreKept) {
  const SharedDirectory directory;
  const std::string text = shared_file(directory, "text", spike_text({}));
  for (const int keep : {1, 2}) {
    const std::string run = directory.path(std::to_string(keep));
    auto job = diverging_job(run, text, 1.0, keep);
    train_to_the_end(job);
    std::vector<std::string> expected = {"step-000020.h5", "step-000008.h5"};
    if (keep == 2) expected.insert(expected.begin() + 1, "step-000016.h5");
    EXPECT_EQ(checkpoint_names(run), expected);
    job["run"]["steps"] = 24;  // the resumed file records the last loss within the spike limit
    train_to_the_end(job);
    EXPECT_EQ(checkpoint_names(run).back(), "step-000008.h5");
    EXPECT_EQ(checkpoint_names(run).front(), "step-000024.h5");
    EXPECT_EQ(std::ssize(checkpoint_names(run)), keep + 1);
  }
}

TEST(RunCheckpoints, OneOfWeightsWithoutAFiniteLossRemovesNoOther) {
  const SharedDirectory directory;
  const std::string text = shared_file(directory, "text", spike_text({}));
  const auto job = diverging_job(directory.path("run"), text, 1e20, 1);
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), testing::HasSubstr("not finite"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(checkpoint_names(directory.path("run")), ElementsAre("step-000008.h5"));
}

// The loss of the next step proves a file; until then its weights may be bad.
TEST(RunCheckpoints, TheNewestIsSoundOnceALossHasShownIt) {
  const SharedDirectory directory;
  auto job = spike_job(layout_of_ranks(), shared_file(directory, "text", spike_text({8})),
                       directory.path("run"));
  job["run"]["loss_spike"]["action"] = "stop";
  job["checkpoint"]["keep"] = 1;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), testing::HasSubstr("of step 9"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(checkpoint_names(directory.path("run")),
              ElementsAre("step-000008.h5", "step-000004.h5"));
}

// The case of a disk without space for a third file.
TEST(RunCheckpoints, TheOneThatARunResumesRemovesOthersOnceALossHasShownIt) {
  const SharedDirectory directory;
  const std::string run = directory.path("run");
  auto job = spike_job(layout_of_ranks(), shared_file(directory, "text", spike_text({})), run);
  job["run"]["steps"] = 8;
  train_to_the_end(job);
  ASSERT_THAT(checkpoint_names(run), ElementsAre("step-000008.h5", "step-000004.h5"));
  job["run"]["steps"] = 9;
  job["checkpoint"] = {{"keep", 1}, {"interval", 100}, {"at_end", false}};
  train_to_the_end(job);
  EXPECT_THAT(checkpoint_names(run), ElementsAre("step-000008.h5"));
}

TEST(RunCheckpoints, NoMoreThanThoseThatAreKeptStayWhereTheLossComesBack) {
  const SharedDirectory directory;
  const std::string text = shared_file(directory, "text", spike_text({9, 12}));
  for (const bool async : {false, true}) {
    const std::string run = directory.path(async ? "async" : "direct");
    auto job = spike_job(layout_of_ranks(), text, run);
    job["run"]["loss_spike"]["action"] = "warn";
    job["checkpoint"] = {{"interval", 1}, {"keep", 1}, {"async", async}};
    train_to_the_end(job);
    EXPECT_THAT(checkpoint_names(run), ElementsAre("step-000016.h5", "step-000015.h5"));
  }
}

}  // namespace
}  // namespace triax::test
