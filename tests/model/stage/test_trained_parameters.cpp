// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/trained_parameters.hpp"

#include <gmock/gmock.h>

#include "src/model/stage/partition.hpp"
#include "src/model/stage/stage.hpp"
#include "tests/model/small_models.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ModelConfig model_of(const std::string& architecture, Trainability trainability) {
  ModelConfig model = small_model(architecture);
  model.trainability = std::move(trainability);
  return model;
}

std::vector<std::string> trained_in(const ModelConfig& model) {
  std::vector<std::string> names;
  for (const GlobalTensor& tensor : global_tensors(model))
    if (tensor.trained) names.push_back(tensor.name);
  return names;
}

TEST(TrainedParameters, PatternsStandForTensorsAndModules) {
  const Trainability model{.freeze = {"model.embed_tokens", "*.bias", "model.layers.[0-3]"}};
  EXPECT_FALSE(is_trained(model, "model.embed_tokens.weight"));
  EXPECT_FALSE(is_trained(model, "model.layers.4.self_attn.q_proj.bias"));
  EXPECT_FALSE(is_trained(model, "model.layers.3.mlp.up_proj.weight"));
  EXPECT_TRUE(is_trained(model, "model.layers.13.mlp.up_proj.weight"));
  EXPECT_TRUE(is_trained(model, "model.layers.4.self_attn.q_proj.weight"));
  EXPECT_TRUE(is_trained(model, "model.embed_tokens_too.weight"));
  const Trainability other{.train_only = {"lm_head.weight"}};
  EXPECT_TRUE(is_trained(other, "lm_head.weight"));
  EXPECT_FALSE(is_trained(other, "model.norm.weight"));
  EXPECT_TRUE(is_trained({}, "model.norm.weight"));
}

TEST(TrainedParameters, AreCounted) {
  const TrainedParameters all = trained_parameters(small_model("qwen2"));
  EXPECT_EQ(all.trained, all.all);
  const ModelConfig model = model_of("qwen2", {.train_only = {"model.norm"}});
  EXPECT_EQ(trained_parameters(model).trained, model.hidden);
  EXPECT_EQ(trained_parameters(model).all, all.all);
  EXPECT_THAT(trained_in(model), testing::ElementsAre("model.norm.weight"));
}

TEST(TrainedParameters, FrozenOnesSaveTheirShareOfAStep) {
  const auto saved = [](Trainability trainability) {
    return saved_flops_per_token(model_of("qwen2", std::move(trainability)), 8);
  };
  const ModelConfig model = small_model("qwen2");
  const double block = block_flops(model, 0, 8), head = head_flops(model);
  EXPECT_EQ(saved({}), 0.0);
  EXPECT_DOUBLE_EQ(
      saved({.freeze = {"model.layers.1.mlp.up_proj", "model.layers.1.mlp.gate_proj"}}),
      2.0 * 2 * model.hidden * model.intermediate);
  EXPECT_DOUBLE_EQ(saved({.freeze = {"lm_head"}}), head);
  // Left are the forward pass, a third of a training step, and the gradient of the head's input.
  EXPECT_DOUBLE_EQ(saved({.train_only = {"model.norm"}}), 2 * 2 * block + head);
  EXPECT_DOUBLE_EQ(saved({.freeze = {"model.embed_tokens", "model.layers.0"}}), 2 * block);
}

TEST(TrainedParameters, APatternThatNamesNothingIsRefusedWithTheNearestNames) {
  const auto error = [](const std::string& architecture, Trainability trainability) {
    return error_of([&] { check_trainability(model_of(architecture, std::move(trainability))); });
  };
  EXPECT_EQ(error("qwen2", {}), "");
  EXPECT_EQ(error("qwen2", {.freeze = {"model.layers.0"}}), "");
  EXPECT_THAT(error("qwen2", {.freeze = {"model.layers.0", "model.layer.*"}}),
              AllOf(HasSubstr("freeze: \"model.layer.*\" is the name of no tensor of the model"),
                    HasSubstr("model.layers.*"), HasSubstr("not regular expressions")));
  EXPECT_THAT(error("qwen2", {.train_only = {"lm_heads"}}),
              AllOf(HasSubstr("train_only: \"lm_heads\""), HasSubstr("lm_head")));
  EXPECT_THAT(error("qwen2", {.freeze = {"*"}}), HasSubstr("no tensor of the model is left"));
}

TEST(TrainedParameters, ErrorsNameTheLineOfTheKey) {
  const auto error = [](Trainability trainability) {
    trainability.origin = "job.json:7";
    return error_of([&] { check_trainability(model_of("qwen2", std::move(trainability))); });
  };
  EXPECT_THAT(error({.freeze = {"lm_heads"}}), HasSubstr("job.json:7: freeze: \"lm_heads\" is"));
  EXPECT_THAT(error({.train_only = {"lm_heads"}}), HasSubstr("job.json:7: train_only: \"lm_heads"));
  EXPECT_THAT(error({.freeze = {"*"}}), HasSubstr("job.json:7: freeze: no tensor of the model is"));
  EXPECT_THAT(error({.freeze = {"*.q_proj.weight"}}),
              HasSubstr("job.json:7: freeze: model.layers"));
}

TEST(TrainedParameters, ATiedHeadIsNamedByItsEmbedding) {
  ModelConfig model = model_of("gpt2", {.freeze = {"lm_head.weight"}});
  model.tied_embeddings = true;
  EXPECT_THAT(error_of([&] { check_trainability(model); }),
              HasSubstr("its head is tied to the token embedding, transformer.wte.weight"));
}

// Queries, keys and values of a layer are one tensor in memory.
TEST(TrainedParameters, OneTensorInMemoryIsFrozenAsAWhole) {
  EXPECT_THAT(
      error_of([&] { check_trainability(model_of("qwen2", {.freeze = {"*.q_proj.weight"}})); }),
      AllOf(HasSubstr("model.layers.0.self_attn.q_proj.weight is frozen and "
                      "model.layers.0.self_attn.k_proj.weight is not"),
            HasSubstr("attention.qkv.weight")));
}

}  // namespace
}  // namespace triax::test
