// SPDX-License-Identifier: Apache-2.0
// Files of DeepSpeed users, with model and data added and no key changed, load and train.
#include <cmath>
#include <filesystem>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Trains two steps of a job from a ds_config.json, a model and text, with a checkpoint; returns the
// lines of metrics.jsonl.
std::vector<nlohmann::json> two_steps(const char* deepspeed_file, const nlohmann::json& parallel) {
  const SharedDirectory directory;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i) + "\n";
  const TempDirectory own;  // one per rank, with the same text
  auto job = nlohmann::json::parse(deepspeed_file);
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 2},      {"n_head", 2},
                  {"n_embd", 32},           {"n_positions", 16}, {"vocab_size", 256}};
  job["data"] = {{"train", {own.file("text.txt", text)}}, {"seq_length", 16}};
  job["parallel"] = parallel;
  job["run"] = {{"steps", 2}, {"directory", directory.path("run")}, {"progress", "none"}};
  train_to_the_end(job);
  EXPECT_TRUE(std::filesystem::exists(directory.path("run/checkpoints/step-000002.h5")));
  return metrics_of(directory.path("run"));
}

// Expects the loss of untrained weights, log(256), and a falling loss.
void expect_training(const std::vector<nlohmann::json>& steps) {
  ASSERT_EQ(steps.size(), 2U);
  const double first = steps[0].at("loss"), second = steps[1].at("loss");
  EXPECT_NEAR(first, std::log(256.0), 0.1);
  EXPECT_NEAR(second, std::log(256.0), 0.1);
  EXPECT_LT(second, first);
  EXPECT_GT(steps[0].at("grad_norm").get<double>(), 0.0);
}

TEST(DeepSpeedJobs, Stage2InBf16) {
  const char* const file = R"({
    "bf16": {"enabled": true},
    "zero_optimization": {
      "stage": 2, "allgather_partitions": true, "allgather_bucket_size": 5e8, "overlap_comm": true,
      "reduce_scatter": true, "reduce_bucket_size": 5e8, "contiguous_gradients": true
    },
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-3, "warmup_max_lr": 1e-3, "warmup_num_steps": 2}},
    "gradient_accumulation_steps": 2, "gradient_clipping": 1.0, "steps_per_print": 2000,
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": 2, "wall_clock_breakdown": false
  })";
  expect_training(two_steps(file, {{"data", "auto"}}));
}

TEST(DeepSpeedJobs, Stage3InFp16WithAllItsKeys) {
  const char* const file = R"({
    "fp16": {"enabled": true, "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 12, "hysteresis": 2, "min_loss_scale": 1},
    "zero_optimization": {
      "stage": 3, "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 1e9,
      "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
      "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1e9,
      "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true
    },
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": 4, "wall_clock_breakdown": false
  })";
  const auto steps = two_steps(file, {{"data", "auto"}});
  expect_training(steps);
  EXPECT_EQ(steps.at(0).at("loss_scale"), 4096.0);
}

TEST(DeepSpeedJobs, Stage3WithNumbersForEveryKey) {
  const char* const file = R"({
    "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"},
    "zero_optimization": {
      "stage": 3, "overlap_comm": true, "reduce_bucket_size": 1e6,
      "stage3_prefetch_bucket_size": 9e5, "stage3_param_persistence_threshold": 1e2,
      "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9,
      "stage3_gather_16bit_weights_on_model_save": true
    },
    "optimizer": {"type": "Adam", "params": {"lr": 1e-3}},
    "train_micro_batch_size_per_gpu": 4
  })";
  expect_training(two_steps(file, {{"data", "auto"}}));
}

TEST(DeepSpeedJobs, Stage3WithBothOffloadsToTheCpuPinned) {
  const char* const file = R"({
    "bf16": {"enabled": true},
    "zero_optimization": {
      "stage": 3,
      "offload_optimizer": {"device": "cpu", "pin_memory": true},
      "offload_param": {"device": "cpu", "pin_memory": true},
      "overlap_comm": true, "contiguous_gradients": true, "sub_group_size": 1e9, "reduce_bucket_size": "auto",
      "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
      "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9,
      "stage3_gather_16bit_weights_on_model_save": true
    },
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-3, "warmup_max_lr": 1e-3, "warmup_num_steps": "auto"}},
    "gradient_accumulation_steps": 2, "gradient_clipping": 1.0, "steps_per_print": 10,
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": 2, "wall_clock_breakdown": false
  })";
  expect_training(two_steps(file, {{"data", "auto"}}));
}

TEST(DeepSpeedJobs, APipelineWithStage2) {
  const char* const file = R"({
    "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4,
    "bf16": {"enabled": true}, "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8},
    "pipeline": {"activation_checkpoint_interval": 0},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "weight_decay": 0.01}}
  })";
  expect_training(two_steps(file, {{"pipeline", world_size() > 1 ? 2 : 1}, {"data", "auto"}}));
}

}  // namespace
}  // namespace triax::test
