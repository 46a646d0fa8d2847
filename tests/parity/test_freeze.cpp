// SPDX-License-Identifier: Apache-2.0
// Frozen tensors: their bits stay, the others move; checkpoints; a resume with other frozen
// tensors. The golden cases *-frozen hold the losses against PyTorch's on every grid (test_golden),
// with state on disk (test_memory_matrix), and the plan's memory and messages
// (test_traffic_of_training).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/hdf5/boxes.hpp"
#include "kernels/activation/elementwise.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/state/optimizer/rules/rules.hpp"
#include "src/state/weights/huggingface_weights.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

// Layouts of all numbers of ranks that the test runs on.
std::vector<Layout> layouts() {
  std::vector<Layout> all = {
      {.micro = 2},
      {.micro = 1, .recompute = 9},
      {.tensor = 2, .micro = 2},
      {.pipeline = 2, .micro = 2},
      {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 2, .recompute = 1},
      {.pipeline = 4, .micro = 1},
      {.tensor = 2, .data = 2, .micro = 2, .zero = 3, .persistence = 50},
      {.pipeline = 2, .data = 2, .micro = 2, .zero = 2}};
  for (const int zero : {0, 1, 2, 3}) all.push_back({.data = 2, .micro = 2, .zero = zero});
  std::erase_if(all, [](const Layout& l) { return l.ranks() != world_size(); });
  return all;
}

// Bytes of a tensor in a checkpoint.
std::vector<std::byte> bytes_of(const CheckpointReader& reader, const std::string& name) {
  const CheckpointTensor& tensor = reader.tensor(name);
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.shape.elements()) *
                               size_of(tensor.dtype));
  reader.read(name, hdf5::flat_range_boxes(tensor.shape, 0, tensor.shape.elements()),
              Tensor(bytes.data(), tensor.dtype, {tensor.shape.elements()}));
  return bytes;
}

std::string checkpoint_of(const std::string& run, int step) {
  return fmt::format("{}/checkpoints/step-{:06}.h5", run, step);
}

// The tensor as the model's files have it, in the type of the checkpoint.
std::vector<std::byte> initial_bytes(const ModelConfig& model, const CheckpointTensor& tensor,
                                     const std::string& name) {
  const std::int64_t count = tensor.shape.elements();
  std::vector<float> values(static_cast<std::size_t>(count));
  HuggingfaceWeights(model.weights, model).read(name, 0, Tensor(values.data(), {count}));
  std::vector<std::byte> bytes(values.size() * size_of(tensor.dtype));
  convert(Stream{}, Tensor(bytes.data(), tensor.dtype, {count}), Tensor(values.data(), {count}));
  return bytes;
}

// Trains ten steps, and compares the weights before, at the fifth and after the last.
void expect_frozen_bits(nlohmann::json job, const std::string& directory) {
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 10;
  job["checkpoint"] = {{"resume", "never"}, {"interval", 5}};
  train_to_the_end(job);
  if (world_rank() != 0) return;
  const ModelConfig model = load(job, world_size()).config.model;
  const CheckpointReader middle(checkpoint_of(directory, 5)), last(checkpoint_of(directory, 10));
  for (const GlobalTensor& tensor : global_tensors(model)) {
    const std::string name = "/model/" + tensor.name;
    const auto before = initial_bytes(model, last.tensor(name), tensor.name);
    const auto at_the_middle = bytes_of(middle, name), after = bytes_of(last, name);
    EXPECT_EQ(before == at_the_middle, !tensor.trained) << name;
    EXPECT_EQ(at_the_middle == after, !tensor.trained) << name;
  }
}

TEST(Freeze, KeepsTheBitsOfFrozenTensorsAndMovesTheOthers) {
  const SharedDirectory directory;
  int runs = 0;
  for (const char* name :
       {"gpt2-frozen", "qwen2-frozen", "llama-frozen", "qwen3-frozen", "pythia-frozen"}) {
    const GoldenCase golden = read_golden(name);
    for (const Layout& layout : layouts()) {
      if (!carries(golden, layout)) continue;
      for (const char* type : {"f32", "bf16"}) {
        Layout typed = layout;
        typed.type = type;
        SCOPED_TRACE(name + (", " + typed.text()));
        auto job = golden_job(golden, typed);
        // Large enough that one step shows in 8 bits of a weight.
        job["optimizer"]["params"]["lr"] = 0.01;
        expect_frozen_bits(job, directory.path(fmt::format("run{}", runs++)));
        offload_optimizer(job, directory.path());
        if (typed.zero == 3) offload_parameters(job, directory.path());
        expect_frozen_bits(job, directory.path(fmt::format("run{}", runs++)));
      }
    }
  }
}

// Frozen tensors of a 16-bit run have 16 bits only, and a stage without trained ones no state.
TEST(Freeze, LeavesNoStateOfFrozenTensors) {
  const GoldenCase golden = read_golden("gpt2-frozen");
  const PlacedConfig config =
      golden_config({.pipeline = 4, .micro = 1, .type = "bf16"}, golden.name);
  const StepPlans plans = step_plans(config);
  const Allocations first = planned_allocations(config, plans, make_stage(config, 0, 0));
  EXPECT_GT(first.state.parameters, 0);
  EXPECT_EQ(first.state.gradients, 0);
  EXPECT_EQ(first.optimizer, OptimizerBytes{});
  const Allocations second = planned_allocations(config, plans, make_stage(config, 1, 0));
  EXPECT_GT(second.optimizer.master, 0);
  EXPECT_EQ(second.optimizer.moments, 2 * second.optimizer.master);
  EXPECT_LT(second.optimizer.master, 2 * second.state.parameters);
  EXPECT_EQ(second.state.gradients, second.optimizer.master / 2);
}

class FreezeAndResume : public testing::Test {
 protected:
  nlohmann::json job(const std::string& run, std::int64_t steps) const {
    const Layout layout{.data = world_size(), .micro = 1, .zero = 1, .type = "bf16"};
    auto job = golden_job(read_golden("gpt2-frozen"), layout);
    job["run"]["directory"] = directory_.path(run);
    job["run"]["steps"] = steps;
    job["scheduler"]["params"]["warmup"] = 1;
    job["checkpoint"]["at_end"] = true;
    return job;
  }
  std::string file(const std::string& run, int step) const {
    return checkpoint_of(directory_.path(run), step);
  }
  nlohmann::json resumed(const std::string& run, const std::string& from, int step) const {
    auto text = job(run, step + 2);
    text["checkpoint"]["resume"] = file(from, step);
    return text;
  }
  std::vector<double> losses(const std::string& run) const {
    std::vector<double> all;
    for (const auto& line : metrics_of(directory_.path(run)))
      if (line.contains("loss")) all.push_back(line["loss"]);
    return all;
  }
  SharedDirectory directory_;
};

TEST_F(FreezeAndResume, ACheckpointHoldsAllWeightsAndTheStateOfTrainedOnes) {
  train_to_the_end(job("frozen", 2));
  const CheckpointReader reader(file("frozen", 2));
  const LoadedJob loaded = load(job("frozen", 2), world_size());
  for (const GlobalTensor& tensor : global_tensors(loaded.config.model)) {
    EXPECT_TRUE(reader.contains("/model/" + tensor.name)) << tensor.name;
    for (const char* group : {"/master/", "/optimizer/exp_avg/", "/optimizer/exp_avg_sq/"})
      EXPECT_EQ(reader.contains(group + tensor.name), tensor.trained) << group << tensor.name;
  }
  EXPECT_EQ(newly_trained(reader, loaded.config.model), "");
  ModelConfig all = loaded.config.model;
  all.trainability = {};
  EXPECT_THAT(newly_trained(reader, all), HasSubstr("their optimizer states start from zero"));
}

TEST_F(FreezeAndResume, WithTheSameTensorsChangesNoBit) {
  auto straight = job("straight", 4);
  straight["checkpoint"]["interval"] = 2;
  train_to_the_end(straight);
  train_to_the_end(resumed("again", "straight", 2));
  if (world_rank() != 0) return;
  const std::vector<double> whole = losses("straight"), rest = losses("again");
  EXPECT_EQ(rest, (std::vector<double>{whole.begin() + 2, whole.end()}));
}

// First all tensors are trained, then the head's norm alone, then all again.
TEST_F(FreezeAndResume, WithOtherTensorsContinuesFromTheSameWeights) {
  auto straight = job("straight", 4);
  straight["checkpoint"]["interval"] = 2;
  train_to_the_end(straight);
  auto fewer = resumed("fewer", "straight", 2);
  fewer.erase("freeze");
  fewer["train_only"] = {"transformer.ln_f"};
  train_to_the_end(fewer);
  auto all = resumed("all", "straight", 2);
  all.erase("freeze");
  train_to_the_end(all);
  auto last = resumed("last", "all", 4);
  train_to_the_end(last);
  auto more = resumed("more", "fewer", 4);
  more.erase("freeze");
  train_to_the_end(more);
  if (world_rank() != 0) return;
  for (const char* run : {"fewer", "all"})
    EXPECT_EQ(losses(run).front(), losses("straight")[2]) << run;
  for (const char* run : {"fewer", "all", "last", "more"}) {
    ASSERT_EQ(losses(run).size(), 2U) << run;
    EXPECT_TRUE(std::ranges::all_of(losses(run), [](double x) { return x > 0 && x < 5; })) << run;
  }
}

// The states of a tensor that was frozen count their updates from its first one, so that the bias
// correction holds: AdamW's first update of an element is the learning rate. So in the next file.
TEST_F(FreezeAndResume, NewlyTrainedTensorsStartAsInANewRun) {
  constexpr double rate = 1e-3;
  const std::string name = "transformer.h.0.mlp.c_fc.weight";
  const auto of = [&](const std::string& run, int steps, const std::string& from) {
    auto text = job(run, steps);
    text.erase("scheduler");
    text.erase("bf16");
    text.erase("data_types");
    text["optimizer"]["params"] = {{"lr", rate}, {"eps", 1e-12}};
    text["checkpoint"]["interval"] = 1;
    if (!from.empty()) text.erase("freeze");
    if (!from.empty()) text["checkpoint"]["resume"] = from;
    train_to_the_end(text);
  };
  of("frozen", 3, "");
  of("trained", 5, file("frozen", 3));
  of("again", 6, file("trained", 5));
  if (world_rank() != 0) return;
  const auto values = [&](const std::string& path) {
    const std::vector<std::byte> bytes = bytes_of(CheckpointReader(path), "/model/" + name);
    std::vector<float> floats(bytes.size() / sizeof(float));
    std::memcpy(floats.data(), bytes.data(), bytes.size());
    return floats;
  };
  const std::vector<float> before = values(file("frozen", 3)), after = values(file("trained", 4));
  double least = rate, most = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double moved = std::abs(double{after[i]} - double{before[i]});
    least = std::min(least, moved);
    most = std::max(most, moved);
  }
  EXPECT_NEAR(least, rate, 1e-3 * rate);
  EXPECT_NEAR(most, rate, 1e-3 * rate);
  const LoadedJob loaded = load(job("trained", 5), world_size());
  ModelConfig all = loaded.config.model;
  all.trainability = {};
  for (const std::string& path : {file("trained", 5), file("again", 6)})
    for (const GlobalTensor& tensor : global_tensors(loaded.config.model)) {
      const TensorStarts starts = tensor_starts_of(CheckpointReader(path), all, states_of({}), 6);
      EXPECT_EQ(starts.contains(tensor.name) ? starts.at(tensor.name) : 0, tensor.trained ? 0 : 3)
          << path << ": " << tensor.name;
    }
}

// Every optimizer, with a group of its own for the biases; and random rounding of 16-bit weights.
TEST(Freeze, OfEveryOptimizerKeepsTheBits) {
  const SharedDirectory directory;
  int runs = 0;
  for (const OptimizerRule* rule : optimizer_rules()) {
    SCOPED_TRACE(rule->name);
    const Layout layout{.data = world_size(), .micro = 1, .zero = runs % 4};
    auto job = golden_job(read_golden("pythia-frozen"), layout);
    job["optimizer"] = {{"type", rule->name},
                        {"params", {{"lr", 1e-3}}},
                        {"groups", {{{"match", "*.bias"}, {"lr", 2e-3}}}}};
    job["scheduler"]["params"]["min_lr"] = 0.0;
    expect_frozen_bits(job, directory.path(fmt::format("run{}", runs++)));
  }
  auto job = golden_job(read_golden("qwen3-frozen"),
                        {.data = world_size(), .micro = 1, .zero = 2, .type = "bf16"});
  job["optimizer"]["params"]["stochastic_rounding"] = true;
  job["optimizer"]["params"]["lr"] = 0.01;
  expect_frozen_bits(job, directory.path(fmt::format("run{}", runs)));
}

}  // namespace
}  // namespace triax::test
