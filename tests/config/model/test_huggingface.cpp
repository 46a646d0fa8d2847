// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/config/model/huggingface.hpp"
#include "tests/config/same_config.hpp"

namespace triax {
namespace {

TEST(HuggingFaceConfig, ReadsBackAsTheSameModel) {
  ModelConfig gpt2;
  gpt2.layers = 3;
  gpt2.intermediate = 1000;
  gpt2.attention_dropout = 0.1F;
  gpt2.tied_embeddings = false;
  ModelConfig llama;
  llama.architecture = "llama";
  llama.heads = 8;
  llama.kv_heads = 2;
  llama.head_size = 32;
  llama.hidden = 100;
  llama.norm_epsilon = 3e-6F;
  llama.rope_theta = 5e5;
  llama.tied_embeddings = llama.qkv_bias = false;
  llama.attention_output_bias = llama.mlp_bias = false;
  auto qwen2 = llama;
  qwen2.architecture = "qwen2";
  qwen2.tied_embeddings = qwen2.qkv_bias = true;
  qwen2.token_ids = R"({"bos_token_id":1,"eos_token_id":[2,3]})";
  auto biased = llama;
  biased.qkv_bias = biased.attention_output_bias = biased.mlp_bias = true;
  biased.rope_scaling = {"linear", 2.0, 0.0, 0.0, 0};
  auto scaled = llama;
  scaled.mlp_bias = true;
  scaled.rope_scaling = {"llama3", 32.0, 1.0, 4.0, 8192};
  auto yarn = llama;
  yarn.rope_scaling = {.type = "yarn",
                       .factor = 5.5,
                       .original_positions = 100,
                       .beta_fast = 32.0,
                       .beta_slow = 0.5,
                       .truncate = false,
                       .attention_factor = 1.25,
                       .mscale = 1.0,
                       .mscale_all_dim = 0.5};
  auto longrope = qwen2;
  longrope.rope_scaling = {.type = "longrope",
                           .original_positions = 100,
                           .short_factor = std::vector(16, 1.5),
                           .long_factor = std::vector(16, 8.0)};
  for (const auto& model : {gpt2, llama, qwen2, biased, scaled, yarn, longrope}) {
    const auto text = huggingface_config(model);
    EXPECT_TRUE(testing_support::same(model_from_huggingface(text, "config.json"), model)) << text;
  }
}

TEST(HuggingFaceConfig, WritesShortNumbers) {
  const auto j = nlohmann::json::parse(huggingface_config(ModelConfig{}));
  EXPECT_EQ(j["layer_norm_epsilon"], 1e-5);
  EXPECT_EQ(j["model_type"], "gpt2");
  EXPECT_EQ(j["architectures"][0], "GPT2LMHeadModel");
}

// Older versions of Hugging Face know fewer keys, and read one of longrope's beside rope_scaling.
TEST(HuggingFaceConfig, WritesRotaryPositionsInTheOlderForm) {
  ModelConfig model;
  model.architecture = "llama";
  const auto written = [&] { return nlohmann::json::parse(huggingface_config(model)); };
  EXPECT_TRUE(written().at("rope_scaling").is_null());
  model.rope_scaling = {.type = "yarn",
                        .factor = 4.0,
                        .original_positions = 256,
                        .beta_fast = 32.0,
                        .beta_slow = 1.0,
                        .truncate = true};
  EXPECT_EQ(written().at("rope_scaling"),
            nlohmann::json::parse(R"({"rope_type": "yarn", "factor": 4.0,
                                      "original_max_position_embeddings": 256})"));
  EXPECT_FALSE(written().contains("original_max_position_embeddings"));
  model.rope_scaling = {
      .type = "longrope", .original_positions = 256, .short_factor = {1.0}, .long_factor = {2.0}};
  EXPECT_EQ(written().at("original_max_position_embeddings"), 256);
  EXPECT_EQ(written().at("rope_scaling").at("long_factor"), nlohmann::json{2.0});
}

TEST(HuggingFaceConfig, NamesTheTypeAndTheTokenIds) {
  ModelConfig model;
  const auto config = [&](DType type) {
    return nlohmann::json::parse(huggingface_config(model, type));
  };
  EXPECT_EQ(config(DType::f32)["torch_dtype"], "float32");
  EXPECT_EQ(config(DType::bf16)["torch_dtype"], "bfloat16");
  EXPECT_EQ(config(DType::f16)["torch_dtype"], "float16");
  EXPECT_TRUE(config(DType::f32).at("eos_token_id").is_null());
  model.token_ids = R"({"eos_token_id":[2,3]})";
  EXPECT_EQ(config(DType::f32)["eos_token_id"], (nlohmann::json{2, 3}));
}

}  // namespace
}  // namespace triax
