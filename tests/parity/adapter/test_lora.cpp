// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters on every grid: the base's bits stay, step 0 is the base, dropout is one curve,
// checkpoints hold the adapters alone and are resumed on any grid. The golden cases *-lora hold the
// losses against PEFT's (test_golden).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/adapter_base.hpp"
#include "src/huggingface/huggingface_export.hpp"
#include "src/inference/generate.hpp"
#include "src/inference/grid_model.hpp"
#include "src/inference/model_files.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

constexpr const char* cases[] = {"gpt2-lora", "llama-lora"};
// With magnitudes, or with modules that are trained whole; with both.
constexpr const char* decomposed_cases[] = {"gpt2-dora", "llama-saved", "qwen2-dora"};

// Layouts of all numbers of ranks that the test runs on.
std::vector<Layout> layouts() {
  std::vector<Layout> all = {
      {.micro = 1, .recompute = 9},
      {.tensor = 2, .micro = 2},
      {.tensor = 2, .micro = 1, .sequence_parallel = false},
      {.pipeline = 2, .schedule = "interleaved", .chunks = 2, .micro = 2, .recompute = 1},
      {.tensor = 2, .data = 2, .micro = 1, .zero = 3, .persistence = 50},
      {.pipeline = 2, .data = 2, .micro = 1, .zero = 2},
      {.tensor = 4, .micro = 2}};
  for (const int zero : {1, 3}) all.push_back({.data = 2, .micro = 2, .zero = zero});
  std::erase_if(all, [](const Layout& l) { return l.ranks() != world_size(); });
  return all;
}

// A job with fresh adapters of every linear map.
nlohmann::json fresh_job(const GoldenCase& golden, const Layout& layout) {
  auto job = golden_job(golden, layout);
  job["lora"] = {{"r", 4}, {"lora_alpha", 8}, {"target_modules", "all-linear"}};
  return job;
}

void expect_close(const std::vector<StepMetrics>& found, const std::vector<StepMetrics>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[i].loss, expected[i].loss, golden_loss_tolerance * expected[i].loss) << i;
    EXPECT_NEAR(found[i].grad_norm, expected[i].grad_norm,
                golden_norm_tolerance * expected[i].grad_norm)
        << i;
  }
}

// The first loss is that of the model without adapters, bit for bit. `keys`: of the section lora.
void expect_start_at_the_base(const char* name, const nlohmann::json& keys) {
  const GoldenCase golden = read_golden(name);
  for (Layout layout : layouts()) {
    if (!carries(golden, layout)) continue;
    SCOPED_TRACE(name + (": " + layout.text()));
    for (const char* type : {"f32", "bf16"}) {
      layout.type = type;
      auto plain = golden_job(golden, layout);
      plain.erase("lora");
      auto fresh = fresh_job(golden, layout);
      fresh["lora"].update(keys);
      EXPECT_EQ(train(MPI_COMM_WORLD, fresh, 1).front().loss,
                train(MPI_COMM_WORLD, plain, 1).front().loss)
          << type;
    }
  }
}

// B starts at zero.
TEST(Lora, StartsAtTheBase) {
  for (const char* name : cases) expect_start_at_the_base(name, nlohmann::json::object());
}

// Magnitudes start as the norms of the base's weights.
TEST(Lora, WithMagnitudesStartsAtTheBase) {
  for (const char* name : {"gpt2-dora", "qwen2-dora"})
    expect_start_at_the_base(name, {{"use_dora", true}});
}

TEST(Lora, MagnitudesAndDropoutAreOneLossCurveOnEveryGrid) {
  for (const char* name : {"gpt2-dora", "qwen2-dora"}) {
    const GoldenCase golden = read_golden(name);
    const auto job = [&](const Layout& layout) {
      auto made = golden_job(golden, layout);
      made["lora"]["lora_dropout"] = 0.3;
      return made;
    };
    const auto expected = train(MPI_COMM_SELF, job({.micro = 2}), 4);
    for (const Layout& layout : layouts()) {
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(name + (": " + layout.text()));
      expect_close(train(MPI_COMM_WORLD, job(layout), 4), expected);
    }
  }
}

TEST(Lora, FreshAdaptersAndDropoutAreOneLossCurveOnEveryGrid) {
  for (const char* name : cases) {
    const GoldenCase golden = read_golden(name);
    const auto job = [&](const Layout& layout) {
      auto made = fresh_job(golden, layout);
      made["lora"]["lora_dropout"] = 0.3;
      made["lora"]["init_lora_weights"] = false;
      return made;
    };
    const auto expected = train(MPI_COMM_SELF, job({.micro = 2}), 4);
    for (const Layout& layout : layouts()) {
      if (!carries(golden, layout)) continue;
      SCOPED_TRACE(name + (": " + layout.text()));
      expect_close(train(MPI_COMM_WORLD, job(layout), 4), expected);
    }
  }
}

class LoraRuns : public testing::Test {
 protected:
  nlohmann::json job(const std::string& run, std::int64_t steps, const Layout& layout,
                     const char* name = "llama-lora") const {
    auto made = golden_job(read_golden(name), layout);
    made["run"]["directory"] = directory_.path(run);
    made["run"]["steps"] = steps;
    made["scheduler"]["params"]["warmup"] = 1;
    made["checkpoint"]["at_end"] = true;
    return made;
  }
  std::string file(const std::string& run, int step) const {
    return fmt::format("{}/checkpoints/step-{:06}.h5", directory_.path(run), step);
  }
  static Layout one_of_all() { return layouts().empty() ? Layout{.micro = 1} : layouts().front(); }
  SharedDirectory directory_;
};

TEST_F(LoraRuns, ACheckpointHoldsTheAdaptersAndNamesTheirBase) {
  train_to_the_end(job("run", 2, one_of_all()));
  const CheckpointReader reader(file("run", 2));
  EXPECT_TRUE(holds_adapters(reader.header()));
  const ModelConfig model = model_of(reader.header());
  EXPECT_TRUE(std::filesystem::path(model.weights).is_absolute());
  EXPECT_TRUE(std::filesystem::equivalent(model.weights, read_golden("llama-lora").directory));
  EXPECT_EQ(model.lora.modules.size(), 28U);
  for (const GlobalTensor& tensor : global_tensors(model)) {
    EXPECT_EQ(reader.contains("/model/" + tensor.name), tensor.adapter) << tensor.name;
    EXPECT_EQ(reader.contains("/optimizer/exp_avg/" + tensor.name), tensor.adapter);
  }
}

TEST_F(LoraRuns, ACheckpointHoldsMagnitudesAndModulesThatAreTrainedWhole) {
  for (const std::string name : decomposed_cases) {
    train_to_the_end(job(name, 2, one_of_all(), name.c_str()));
    const CheckpointReader reader(file(name, 2));
    const ModelConfig model = model_of(reader.header());
    std::int64_t held = 0;
    for (const GlobalTensor& tensor : global_tensors(model)) {
      EXPECT_EQ(reader.contains("/model/" + tensor.name), tensor.adapter) << tensor.name;
      EXPECT_EQ(reader.contains("/optimizer/exp_avg/" + tensor.name), tensor.adapter);
      held += tensor.adapter && (tensor.of_base || tensor.name.ends_with(lora_magnitude_suffix));
    }
    EXPECT_GT(held, 0);
  }
}

// A checkpoint of adapters computes as the merged model does, not as their base alone.
TEST_F(LoraRuns, ACheckpointIsReadWithItsAdapters) {
  const GridShape shape{.pipeline = world_size() > 2 ? 2 : 1, .tensor = world_size() > 1 ? 2 : 1};
  const auto logits = [&](const std::string& path) {
    ProcessGrid grid(MPI_COMM_WORLD, shape);
    const ModelFiles files(path, grid);
    GridModel model(files.model(), grid, 8,
                    [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
                      files.load(stream, config, store, grid);
                    });
    return Generator(model).logits({7, 30, 5, 19});
  };
  for (const std::string name : {"llama-lora", "llama-saved", "gpt2-dora", "qwen2-dora"}) {
    SCOPED_TRACE(name);
    train_to_the_end(job(name, 2, one_of_all(), name.c_str()));
    export_huggingface(file(name, 2), directory_.path(name + "-merged"), {.type = DType::f32},
                       MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto found = logits(file(name, 2)), merged = logits(directory_.path(name + "-merged"));
    const auto base = logits(read_golden(name).directory);
    ASSERT_EQ(found.size(), merged.size());
    double change = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], merged[i], 1e-5) << i;
      change = std::max(change, std::abs(static_cast<double>(found[i]) - base[i]));
    }
    EXPECT_GT(change, 1e-3);
  }
}

// Adapters of the first block alone: the last stage of two has none, and nothing to save.
TEST_F(LoraRuns, AStageWithoutAdaptersSavesNothing) {
  if (world_size() != 2) GTEST_SKIP() << "needs two stages";
  auto made = job("run", 2, {.pipeline = 2, .micro = 2});
  made["lora"] = {
      {"r", 3}, {"target_modules", {"q_proj", "down_proj"}}, {"layers_to_transform", {0}}};
  train_to_the_end(made);
  const CheckpointReader reader(file("run", 2));
  for (const GlobalTensor& tensor : global_tensors(model_of(reader.header())))
    EXPECT_EQ(reader.contains("/model/" + tensor.name), tensor.adapter) << tensor.name;
  made["run"]["steps"] = 3;
  made["checkpoint"]["resume"] = file("run", 2);
  train_to_the_end(made);
}

TEST_F(LoraRuns, AreResumedOnTheSameGridBitForBit) {
  for (const Layout& layout : layouts()) {
    if (!carries(read_golden("llama-lora"), layout)) continue;
    SCOPED_TRACE(layout.text());
    const std::string name = fmt::format("{}", std::hash<std::string>()(layout.text()));
    const char* golden = carries(read_golden("qwen2-dora"), layout) ? "qwen2-dora" : "llama-lora";
    auto straight = job(name, 4, layout, golden);
    straight["checkpoint"]["interval"] = 2;
    train_to_the_end(straight);
    auto again = job(name + "-again", 4, layout, golden);
    again["checkpoint"]["resume"] = file(name, 2);
    train_to_the_end(again);
    if (world_rank() != 0) continue;
    const auto whole = metrics_of(directory_.path(name));
    expect_resumed(metrics_of(directory_.path(name + "-again")), whole, 2, 0.0, 0.0);
  }
}

TEST_F(LoraRuns, AreResumedOnAnyGrid) {
  auto alone = job("alone", 4, {.micro = 1}, "qwen2-dora");
  alone["checkpoint"]["interval"] = 2;
  if (world_rank() == 0) {
    ProcessGrid grid(MPI_COMM_SELF, {});
    train_to_the_end(grid, load(alone, 1));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const Layout& layout : layouts()) {
    if (!carries(read_golden("llama-lora"), layout)) continue;
    SCOPED_TRACE(layout.text());
    const std::string name = fmt::format("{}", std::hash<std::string>()(layout.text()));
    auto again = job(name, 4, layout, "qwen2-dora");
    again["checkpoint"]["resume"] = file("alone", 2);
    train_to_the_end(again);
    if (world_rank() != 0) continue;
    expect_resumed(metrics_of(directory_.path(name)), metrics_of(directory_.path("alone")), 2, 1e-5,
                   1e-5);
  }
}

TEST_F(LoraRuns, RefuseACheckpointOfOtherAdaptersOrOfAnotherBase) {
  train_to_the_end(job("run", 2, one_of_all()));
  const auto error = [&](nlohmann::json other) {
    other["checkpoint"]["resume"] = file("run", 2);
    try {
      train_to_the_end(other);
    } catch (const Error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  auto other = job("other", 4, one_of_all());
  other["lora"] = {{"r", 2}, {"target_modules", "all-linear"}};
  EXPECT_THAT(error(other), HasSubstr("had rank 3"));
  auto whole = job("whole", 4, one_of_all());
  whole.erase("lora");
  EXPECT_THAT(error(whole), HasSubstr("holds adapters, and the job has no section lora"));
}

}  // namespace
}  // namespace triax::test
