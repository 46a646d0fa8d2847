// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/keys/rope_scaling.hpp"

#include <gmock/gmock.h>

#include "tests/config/model_texts.hpp"

namespace triax {
namespace {
using namespace testing_support;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The text of a Llama with heads of 8 dimensions and rotary positions.
std::string text(const std::string& rope, int positions = 256, const std::string& more = "") {
  return "{\"model_type\": \"llama\", \"head_dim\": 8, \"max_position_embeddings\": " +
         std::to_string(positions) + more + ",\n\"rope_scaling\": {" + rope + "}}";
}

std::vector<std::string> warnings_of(const std::string& config) {
  std::vector<std::string> lines;
  model_from_huggingface(with_sizes(config), "config.json", &lines);
  return lines;
}

constexpr const char* yarn =
    R"("rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64)";
constexpr const char* longrope =
    R"("rope_type": "longrope", "original_max_position_embeddings": 64,
       "short_factor": [1, 1, 1, 1.5], "long_factor": [1, 2, 3, 4])";

TEST(ReadRopeScaling, TakesTheDefaultsOfHuggingFace) {
  const RopeScaling found = model(text(yarn)).rope_scaling;
  EXPECT_EQ(found, (RopeScaling{.type = "yarn",
                                .factor = 4.0,
                                .original_positions = 64,
                                .beta_fast = 32.0,
                                .beta_slow = 1.0,
                                .truncate = true}));
  EXPECT_THAT(warnings_of(text(yarn)), IsEmpty());
}

TEST(ReadRopeScaling, TakesEveryKey) {
  const std::string more = R"(, "beta_fast": 24, "beta_slow": 0.5, "truncate": false,
      "attention_factor": 1.25, "mscale": 0.707, "mscale_all_dim": 0)";
  EXPECT_EQ(model(text(yarn + more)).rope_scaling, (RopeScaling{.type = "yarn",
                                                                .factor = 4.0,
                                                                .original_positions = 64,
                                                                .beta_fast = 24.0,
                                                                .beta_slow = 0.5,
                                                                .truncate = false,
                                                                .attention_factor = 1.25,
                                                                .mscale = 0.707}));
  EXPECT_EQ(model(text(longrope)).rope_scaling, (RopeScaling{.type = "longrope",
                                                             .original_positions = 64,
                                                             .short_factor = {1.0, 1.0, 1.0, 1.5},
                                                             .long_factor = {1.0, 2.0, 3.0, 4.0}}));
}

TEST(ReadRopeScaling, TheFactorOfYarnMayFollowFromTheContexts) {
  for (const char* factor : {"", R"("factor": null, )"})
    EXPECT_EQ(model(text(std::string(factor) + R"("type": "yarn",
                                                  "original_max_position_embeddings": 64)"))
                  .rope_scaling.factor,
              4.0);
  EXPECT_EQ(model_error(text(R"("type": "yarn")")),
            "config.json:2: model.rope_scaling.factor: missing. The rope_type \"yarn\" needs it, "
            "or original_max_position_embeddings");
  EXPECT_THAT(model_error(text(R"("type": "yarn", "original_max_position_embeddings": 512)")),
              HasSubstr("model.rope_scaling.factor: 0.5, max_position_embeddings / "
                        "original_max_position_embeddings, is below 1. Set it"));
}

TEST(ReadRopeScaling, AFactorOtherThanTheRatioIsSaid) {
  EXPECT_THAT(warnings_of(text(yarn, 512)),
              ElementsAre(HasSubstr("model.rope_scaling.factor: 4 is used, as by Hugging Face 5, "
                                    "although model.max_position_embeddings / ")));
}

TEST(ReadRopeScaling, SaysWhichKeyIsMissingOrWrong) {
  EXPECT_THAT(model_error(text(R"("rope_type": "dynamic")")),
              HasSubstr("model.rope_scaling.factor: missing. The rope_type \"dynamic\" needs it"));
  EXPECT_THAT(model_error(text(R"("rope_type": "longrope", "short_factor": [1, 1, 1, 1])")),
              HasSubstr("model.rope_scaling.long_factor: missing"));
  const auto with = [](const char* rope, const std::string& more) {
    return model_error(text(rope + (", " + more)));
  };
  EXPECT_THAT(with(yarn, R"("beta_fast": 0.5)"),
              HasSubstr("model.rope_scaling.beta_fast: 0.5 is not above beta_slow 1"));
  EXPECT_THAT(with(yarn, R"("attention_factor": 0)"),
              HasSubstr("model.rope_scaling.attention_factor: 0 is not allowed (allowed: > 0)"));
  EXPECT_THAT(with(yarn, R"("truncate": 1)"),
              HasSubstr("model.rope_scaling.truncate: expected boolean, got 1"));
  EXPECT_THAT(with(yarn, R"("beta_slow": "few", "mscale": -1)"),
              AllOf(HasSubstr("beta_slow: expected number"), HasSubstr("mscale: -1 is not")));
  EXPECT_THAT(model_error(text(R"("type": "longrope", "original_max_position_embeddings": 64,
                                  "short_factor": [1, 1, 1, 0], "long_factor": [1, 1, 1])")),
              AllOf(HasSubstr("model.rope_scaling.short_factor: [1,1,1,0] is not allowed"),
                    HasSubstr("model.rope_scaling.long_factor: 3 numbers, but a head of 8 "
                              "dimensions has 4 pairs")));
}

TEST(ReadRopeScaling, UnknownKeysAreRefused) {
  EXPECT_EQ(model_error(text(std::string(yarn) + R"(, "extrapolation_factor": 1)")),
            "config.json:2: model.rope_scaling.extrapolation_factor: unknown key (nearest: "
            "model.rope_scaling.attention_factor). It may change the model's rotary positions: "
            "correct it or leave it out");
  EXPECT_EQ(model_error(text(std::string(yarn) + R"(, "finetuned": true)")), "");
}

TEST(ReadRopeScaling, WhatHasNoFiniteFrequenciesIsRefused) {
  EXPECT_THAT(model_error(text(longrope, 256, R"(, "original_max_position_embeddings": 1)")),
              HasSubstr("model.rope_scaling.rope_type: \"longrope\" gives no finite frequencies"));
  std::string narrow = text(R"("type": "dynamic", "factor": 2)");
  narrow.replace(narrow.find("\"head_dim\": 8"), 13, "\"head_dim\": 2");
  EXPECT_THAT(model_error(narrow), HasSubstr("dynamic needs heads of at least 4 dimensions"));
}

}  // namespace
}  // namespace triax
