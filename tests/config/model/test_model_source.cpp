// SPDX-License-Identifier: Apache-2.0
#include "src/config/model/model_source.hpp"

#include <gmock/gmock.h>

#include "src/config/keys/key_table.hpp"
#include "src/config/model/huggingface.hpp"
#include "tests/config/model_texts.hpp"

namespace triax {
namespace {
using namespace testing_support;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The text of a Llama with scaled rotary positions; `home` is rope_scaling or rope_parameters.
std::string scaled(const std::string& home, const std::string& scaling) {
  return "{\"model_type\": \"llama\", \"max_position_embeddings\": 131072, \"rope_theta\": "
         "500000.0,\n\"" +
         home + "\": " + scaling + "}";
}

constexpr const char* llama3_config =
    R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192})";

TEST(Families, AreThoseThatTheKeysAllow) {
  const KeyTable table;
  for (const char* key : {"model.architecture", "model.model_type"})
    for (const std::string& name : table.find(key)->allowed.choices) {
      ASSERT_NE(find_family(name), nullptr) << key << " " << name;
      EXPECT_EQ(find_family(name)->name, name);
    }
}

TEST(RopeScaling, OfLlama3InBothHomes) {
  const RopeScaling expected{"llama3", 8.0, 1.0, 4.0, 8192};
  for (const char* home : {"rope_scaling", "rope_parameters"}) {
    const auto m = model(scaled(home, llama3_config));
    EXPECT_EQ(m.rope_scaling, expected) << home;
    EXPECT_EQ(m.rope_theta, 500000.0) << home;
  }
  const auto inside = model(scaled("rope_parameters", R"({"rope_type": "linear", "factor": 2,
      "rope_theta": 1000.0})"));
  EXPECT_EQ(inside.rope_theta, 1000.0) << "as Hugging Face has it where both are given";
  EXPECT_EQ(inside.rope_scaling, (RopeScaling{"linear", 2.0, 0.0, 0.0, 0}));
}

TEST(RopeScaling, OlderFilesSayType) {
  EXPECT_EQ(model(scaled("rope_scaling", R"({"type": "linear", "factor": 2.5})")).rope_scaling,
            (RopeScaling{"linear", 2.5, 0.0, 0.0, 0}));
  for (const char* none : {"null", "{}", R"({"type": "default"})", R"({"rope_type": "default"})"})
    EXPECT_EQ(model(scaled("rope_scaling", none)).rope_scaling, RopeScaling{}) << none;
}

TEST(RopeScaling, SaysWhatIsMissingOrWrong) {
  EXPECT_EQ(model_error(scaled("rope_scaling", R"({"rope_type": "linear"})")),
            "config.json:2: model.rope_scaling.factor: missing. The rope_type \"linear\" needs it");
  EXPECT_THAT(model_error(scaled("rope_scaling", R"({"rope_type": "llama3", "factor": 8.0,
                                  "low_freq_factor": 4.0, "high_freq_factor": 4.0})")),
              HasSubstr("model.rope_scaling.high_freq_factor: 4 is not above low_freq_factor 4"));
  EXPECT_THAT(model_error(scaled("rope_parameters", R"({"rope_type": "linear", "factor": 0.5})")),
              HasSubstr("config.json:2: model.rope_scaling.factor: 0.5 is not allowed"));
  EXPECT_THAT(model_error(scaled("rope_parameters", R"({"rope_type": "proportional"})")),
              HasSubstr("rope_type: \"proportional\" is not built yet. Use \"default\", "));
  EXPECT_THAT(model_error(scaled("rope_scaling", R"({"rope_type": "su"})")),
              HasSubstr("\"su\" is not allowed"));
  EXPECT_EQ(model_error(scaled("rope_scaling", R"({"type": "yran", "factor": 8.0})")),
            "config.json:2: model.rope_scaling.rope_type: \"yran\" is not allowed (allowed: "
            "\"default\", \"linear\", \"dynamic\", \"yarn\", \"longrope\", \"llama3\"; nearest: "
            "\"yarn\")");
  EXPECT_THAT(model_error(scaled("rope_scaling", "8")), HasSubstr("expected an object, got 8"));
}

std::vector<std::string> warnings_of(const std::string& text) {
  std::vector<std::string> lines;
  model_from_huggingface(with_sizes(text), "config.json", &lines);
  return lines;
}

TEST(UnknownKeys, NamesKeysThatItDoesNotKnow) {
  EXPECT_THAT(
      warnings_of(R"({"model_type": "llama", "rms_norm_ep": 8, "bogus": 1, "n.m": 2,
                              "nothing": null, "rope_parameters": {"finetuned": true}})"),
      ElementsAre("config.json: triax does not know these keys, which have no effect: bogus, n.m, "
                  "rms_norm_ep (is rms_norm_eps meant?). If one of them "
                  "changes what the model computes, triax trains another model"));
  EXPECT_THAT(warnings_of(R"({"model_type": "gpt2", "hidden_size": 8})"),
              ElementsAre(HasSubstr(" hidden_size. ")));
}

TEST(UnknownKeys, IsSilentOnHuggingFacesBookkeeping) {
  EXPECT_THAT(warnings_of(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "torch_dtype": "bfloat16", "transformers_version": "4.43.0", "use_cache": true,
    "_name_or_path": "here", "bos_token_id": 1, "id2label": {"0": "a"}, "return_dict": true,
    "pretraining_tp": 1, "attention_bias": false, "rope_scaling": null})"),
              IsEmpty());
}

TEST(RopeScaling, MaySayItsTypeTwice) {
  const std::string both = R"({"type": "linear", "rope_type": "linear", "factor": 2.5})";
  EXPECT_THAT(warnings_of(scaled("rope_scaling", both)), IsEmpty());
  EXPECT_EQ(model(scaled("rope_scaling", both)).rope_scaling.type, "linear");
  const std::string other = R"({"type": "mrope", "rope_type": "default"})";
  EXPECT_THAT(warnings_of(scaled("rope_scaling", other)),
              ElementsAre(HasSubstr("rope_scaling.type")));
}

TEST(RopeScaling, TheOriginalContextOfLlama3MayBeLeftOut) {
  const std::string text = scaled("rope_scaling", R"({"rope_type": "llama3", "factor": 8.0,
                                   "low_freq_factor": 1.0, "high_freq_factor": 4.0})");
  EXPECT_EQ(model(text).rope_scaling.original_positions, 131072);
  EXPECT_THAT(
      warnings_of(text),
      ElementsAre("config.json:2: model.rope_scaling.original_max_position_embeddings: missing: "
                  "set to model.max_position_embeddings 131072, as Hugging Face does"));
}

TEST(RopeScaling, AnOriginalContextAboveTheLongestIsSaid) {
  std::string text = scaled("rope_scaling", llama3_config);
  text.replace(text.find("131072"), 6, "4096");
  EXPECT_THAT(warnings_of(text),
              ElementsAre(HasSubstr("original_max_position_embeddings: 8192 is more than "
                                    "model.max_position_embeddings 4096")));
}

TEST(RopeScaling, TheOriginalContextBesideItWins) {
  std::string text = scaled("rope_parameters", llama3_config);
  text.insert(text.size() - 1, ",\n\n\"original_max_position_embeddings\": 2048");
  EXPECT_EQ(model(text).rope_scaling.original_positions, 2048);
  text.replace(text.rfind("2048"), 4, "null");
  EXPECT_EQ(model(text).rope_scaling.original_positions, 8192);
  text.replace(text.rfind("null"), 4, "0");
  EXPECT_THAT(model_error(text),
              HasSubstr("config.json:5: model.rope_scaling.original_max_position_"
                        "embeddings: 0 is not allowed"));
}

TEST(RopeScaling, AFamilyMayHaveNamesOfItsOwn) {
  Family phi = *find_family("llama");
  phi.rope_kinds = {{"su", "longrope"}, {"yarn", "longrope"}};
  ErrorList errors;
  const auto kind_of = [&](const Family& family, const std::string& scaling) {
    ModelSource source = file_source(scaled("rope_scaling", scaling), "config.json", errors);
    normalise(source);
    adapt(source, family);
    return source.root["rope_scaling"].value("rope_type", "none");
  };
  EXPECT_EQ(kind_of(phi, R"({"type": "su"})"), "longrope");
  EXPECT_EQ(kind_of(phi, R"({"rope_type": "yarn"})"), "longrope");
  EXPECT_EQ(kind_of(phi, R"({"rope_type": "linear"})"), "linear");
  EXPECT_EQ(kind_of(phi, "{}"), "none");
  EXPECT_EQ(kind_of(*find_family("llama"), R"({"type": "yarn"})"), "yarn");
}

TEST(RopeScaling, KeysWithoutEffectAreSaid) {
  EXPECT_THAT(warnings_of(scaled("rope_parameters", R"({"rope_type": "default", "factor": 8})")),
              ElementsAre("config.json:2: model.rope_scaling.factor: has no effect with the "
                          "rope_type \"default\""));
  EXPECT_THAT(warnings_of(scaled("rope_scaling", llama3_config)), IsEmpty());
}

}  // namespace
}  // namespace triax
