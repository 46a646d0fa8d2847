// SPDX-License-Identifier: Apache-2.0
#include "src/model/families/families.hpp"

#include <gmock/gmock.h>

#include <set>

#include "src/model/families/attention_kind.hpp"
#include "tests/config/model_texts.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {
namespace {
using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;

// A config.json of the family with few and small sizes, and `more`.
std::string text(const std::string& family, const std::string& more = "") {
  return R"({"model_type": ")" + family +
         R"(", "num_hidden_layers": 8, "num_attention_heads": 4, "hidden_size": 64, "vocab_size": 100,
            "num_key_value_heads": 2)" +
         (more.empty() ? "" : ", " + more) + "}";
}

std::vector<int> windows(const ModelConfig& m) {
  std::vector<int> of;
  for (int block = 0; block < m.layers; ++block) of.push_back(attention_kind(m, block).window);
  return of;
}

std::vector<int> ropes(const ModelConfig& m) {
  std::vector<int> of;
  for (int block = 0; block < m.layers; ++block) of.push_back(attention_kind(m, block).rope);
  return of;
}

// Every architecture has a golden case, and what an export says is what was read.
TEST(Families, ExportsSayWhatWasRead) {
  std::set<std::string> seen;
  for (const std::string& name : golden_names()) {
    const std::string file = read_golden(name).directory + "/config.json";
    const ModelConfig read = model_from_huggingface(contents(file), file);
    const std::string written = huggingface_config(read);
    std::vector<std::string> warnings;
    EXPECT_EQ(huggingface_config(model_from_huggingface(written, name, &warnings)), written);
    EXPECT_THAT(warnings, testing::IsEmpty()) << name;
    seen.insert(read.architecture);
  }
  for (const Family* family : all_families()) EXPECT_TRUE(seen.contains(family->name));
}

TEST(Families, ClassesAreOfOneFamilyEach) {
  std::set<std::string> classes;
  for (const Family* family : all_families())
    for (const char* name : family->classes) {
      EXPECT_TRUE(classes.insert(name).second) << name;
      EXPECT_EQ(find_family_of_class(name), family);
    }
}

TEST(Windows, OfMistralAreInAllBlocks) {
  EXPECT_THAT(windows(model(text("mistral"))), testing::Each(4096)) << "its default";
  EXPECT_THAT(windows(model(text("mistral", R"("sliding_window": 100)"))), testing::Each(100));
  EXPECT_THAT(windows(model(text("mistral", R"("sliding_window": null)"))), testing::Each(0));
}

TEST(Windows, OfQwenBeginAtABlock) {
  for (const char* family : {"qwen2", "qwen3"}) {
    EXPECT_THAT(windows(model(text(family, R"("sliding_window": 100)"))), testing::Each(0));
    const std::string used = R"("use_sliding_window": true, "sliding_window": 100)";
    EXPECT_THAT(windows(model(text(family, used + R"(, "max_window_layers": 5)"))),
                ElementsAre(0, 0, 0, 0, 0, 100, 100, 100));
  }
}

TEST(Windows, LayerTypesCount) {
  const std::string types =
      R"("layer_types": ["full_attention", "sliding_attention", "full_attention",
      "full_attention", "full_attention", "full_attention", "full_attention", "sliding_attention"])";
  EXPECT_THAT(windows(model(text("gemma2", types + R"(, "sliding_window": 9)"))),
              ElementsAre(0, 9, 0, 0, 0, 0, 0, 9));
  EXPECT_THAT(model_error(text("qwen3", types)), HasSubstr("there is no window"));
  EXPECT_THAT(model_error(text("gemma2", R"("layer_types": ["full_attention"])")),
              HasSubstr("1 entries for 8 blocks"));
}

TEST(Windows, OfGemmaAndOlmo3FollowAPattern) {
  EXPECT_THAT(windows(model(text("gemma2"))), ElementsAre(4096, 0, 4096, 0, 4096, 0, 4096, 0));
  EXPECT_THAT(windows(model(text("gemma3_text"))),
              ElementsAre(4096, 4096, 4096, 4096, 4096, 0, 4096, 4096));
  EXPECT_THAT(windows(model(text("gemma3_text", R"("sliding_window_pattern": 3)"))),
              ElementsAre(4096, 4096, 0, 4096, 4096, 0, 4096, 4096));
  EXPECT_THAT(windows(model(text("olmo3"))), ElementsAre(4096, 4096, 4096, 0, 4096, 4096, 4096, 0));
}

TEST(RotaryPositions, OfGemma3AreTwo) {
  const ModelConfig m = model(text("gemma3_text"));
  EXPECT_EQ(m.rope_theta, 1e6);
  EXPECT_EQ(m.local_rope_theta, 1e4);
  EXPECT_THAT(ropes(m), ElementsAre(1, 1, 1, 1, 1, 0, 1, 1));
  const ModelConfig nested = model(text("gemma3_text", R"("rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e5},
      "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}})"));
  EXPECT_EQ(nested.rope_theta, 5e5);
  EXPECT_EQ(nested.local_rope_theta, 300.0);
  EXPECT_EQ(nested.rope_scaling, (RopeScaling{"linear", 8.0}));
  EXPECT_THAT(model_error(text("gemma3_text", R"("rope_parameters": {"full_attention": {},
      "sliding_attention": {"rope_type": "linear", "factor": 2.0}})")),
              HasSubstr("sliding_attention"));
}

TEST(RotaryPositions, OfOlmo3AreScaledInBlocksWithoutWindow) {
  const ModelConfig m = model(text("olmo3", R"("rope_scaling": {"rope_type": "yarn", "factor": 8.0,
      "original_max_position_embeddings": 8192}, "rope_theta": 7000.0)"));
  EXPECT_EQ(m.local_rope_theta, 7000.0);
  EXPECT_THAT(ropes(m), ElementsAre(1, 1, 1, 0, 1, 1, 1, 0));
  EXPECT_EQ(rotaries_of(m)[1].scaling, RopeScaling{});
  EXPECT_EQ(rotaries_of(model(text("olmo3"))).size(), 1U) << "without scaling, one table";
}

TEST(RotaryPositions, OfSmollm3AreLeftOut) {
  EXPECT_THAT(ropes(model(text("smollm3"))), ElementsAre(0, 0, 0, -1, 0, 0, 0, -1));
  EXPECT_THAT(ropes(model(text("smollm3", R"("no_rope_layers": [0, 1, 1, 1, 1, 1, 1, 0])"))),
              ElementsAre(-1, 0, 0, 0, 0, 0, 0, -1));
  EXPECT_THAT(model_error(text("smollm3", R"("no_rope_layers": [0, 1])")),
              HasSubstr("2 entries for 8 blocks"));
}

TEST(RotaryPositions, TurnAPartOfEachHead) {
  EXPECT_EQ(model(text("phi3")).rotary_size, 0);
  EXPECT_EQ(model(text("phi3", R"("partial_rotary_factor": 0.5)")).rotary_size, 8);
  EXPECT_THAT(model_error(text("phi3", R"("partial_rotary_factor": 0.05)")),
              HasSubstr("which are not pairs"));
  const std::string neox = R"({"model_type": "gpt_neox", "num_hidden_layers": 2,
      "num_attention_heads": 4, "hidden_size": 128, "vocab_size": 100)";
  EXPECT_EQ(model(neox + "}").rotary_size, 8) << "a quarter";
  EXPECT_EQ(model(neox + R"(, "rotary_pct": 1.0, "rotary_emb_base": 500})").rotary_size, 0);
  EXPECT_EQ(model(neox + R"(, "rotary_emb_base": 500})").rope_theta, 500.0);
  EXPECT_EQ(model(neox + R"(, "rope_parameters": {"rope_theta": 500, "partial_rotary_factor": 0.5,
      "rope_type": "default"}})")
                .rotary_size,
            16);
}

TEST(RotaryPositions, OfAWindowAreABaseAlone) {
  for (const char* other : {R"("type": "linear", "factor": 2.0)", R"("factor": 2.0)"})
    EXPECT_THAT(model_error(text("olmo3", std::string(R"("rope_parameters": {"full_attention": {},
        "sliding_attention": {)") + other + "}}")),
                HasSubstr("sliding_attention"))
        << other;
  EXPECT_EQ(model(text("olmo3", R"("rope_parameters": {"full_attention": {"type": "linear",
      "factor": 2.0}})"))
                .rope_scaling,
            (RopeScaling{"linear", 2.0}));
}

TEST(RotaryPositions, SharesComeBack) {
  for (const auto& [head, size] : {std::pair{98, 2}, {88, 30}, {100, 58}, {104, 30}, {80, 32}}) {
    ModelConfig m = model(text("phi3", fmt::format(R"("head_dim": {})", head)));
    m.rotary_size = size;
    EXPECT_EQ(model_from_huggingface(huggingface_config(m), "export").rotary_size, size)
        << head << " " << size;
  }
}

TEST(RotaryPositions, OfFilesWithOldAndNewKeysAreThoseOfHuggingFace) {
  const std::string neox = R"({"model_type": "gpt_neox", "num_hidden_layers": 2,
      "num_attention_heads": 4, "hidden_size": 128, "vocab_size": 100, "rotary_emb_base": 500)";
  EXPECT_EQ(model(neox + R"(, "rope_theta": 700})").rope_theta, 500.0);
  EXPECT_EQ(model(neox + R"(, "rope_parameters": {"rope_theta": 700}})").rope_theta, 700.0);
  const ModelConfig m = model(text("gemma3_text", R"("rope_theta": 333,
      "rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_parameters": {
      "full_attention": {"rope_type": "default", "rope_theta": 5e5},
      "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}})"));
  EXPECT_EQ(m.rope_theta, 5e5);
  EXPECT_EQ(m.local_rope_theta, 300.0);
  EXPECT_EQ(m.rope_scaling, (RopeScaling{"linear", 2.0}));
}

TEST(Phi3, HasNoOtherKindsOfRotaryPositions) {
  EXPECT_THAT(model_error(text("phi3", R"("rope_scaling": {"type": "linear", "factor": 2.0})")),
              HasSubstr("\"linear\" is not for a phi3"));
  std::vector<std::string> warnings;
  model_from_huggingface(
      text("phi3", R"("original_max_position_embeddings": 4096, "attention_bias": false)"),
      "config.json", &warnings);
  EXPECT_THAT(warnings, testing::IsEmpty()) << "of a file as published";
}

// Rules that lists of blocks make void are said, unless they agree with the lists.
TEST(Families, RulesBesideListsAreSaid) {
  const auto warnings_of = [](const std::string& family, const std::string& more) {
    std::vector<std::string> warnings;
    model_from_huggingface(text(family, more), "config.json", &warnings);
    return warnings;
  };
  const char* some = R"("no_rope_layers": [1, 0, 1, 0, 1, 0, 1, 0], "no_rope_layer_interval": )";
  EXPECT_THAT(warnings_of("smollm3", some + std::string("3")),
              ElementsAre(HasSubstr("model.no_rope_layer_interval: has no effect")));
  EXPECT_THAT(warnings_of("smollm3", some + std::string("2")), testing::IsEmpty());
  const char* last = R"("sliding_window": 8, "layer_types": ["full_attention", "full_attention",
      "full_attention", "full_attention", "full_attention", "full_attention", "full_attention",
      "sliding_attention"])";
  EXPECT_THAT(
      warnings_of("qwen3",
                  std::string(R"("use_sliding_window": true, "max_window_layers": 6, )") + last),
      ElementsAre(HasSubstr("model.max_window_layers: has no effect")));
  EXPECT_THAT(warnings_of("gemma3_text", std::string(R"("sliding_window_pattern": 2, )") + last),
              ElementsAre(HasSubstr("model.sliding_window_pattern: has no effect")));
}

TEST(Families, TextModelsInsideOthersAreNamed) {
  EXPECT_THAT(model_error(text("gemma3", R"("text_config": {"model_type": "gemma3_text"})")),
              HasSubstr("its text_config is a gemma3_text"));
}

TEST(Smollm3, ListsAreOfZerosAndOnes) {
  EXPECT_THAT(model_error(text("smollm3", R"("no_rope_layers": [0.5, 1, 1, 1, 1, 1, 1, 0])")),
              HasSubstr("neither 0 nor 1"));
}

TEST(Granite, FactorsComeBack) {
  for (const char* divisor : {"1.45", "3", "6.0", "13.37"}) {
    const ModelConfig m = model(text("granite", std::string(R"("logits_scaling": )") + divisor));
    const ModelConfig again = model_from_huggingface(huggingface_config(m), "export");
    EXPECT_EQ(again.logit_divisor, m.logit_divisor) << divisor;
  }
}

TEST(Gemma, BoundsMayBeLeftOut) {
  const ModelConfig said = model(text("gemma2", R"("attn_logit_softcapping": 20.0,
      "query_pre_attn_scalar": 64)"));
  EXPECT_EQ(said.attention_soft_cap, 20.0F);
  EXPECT_EQ(said.logit_soft_cap, 30.0F) << "its default";
  EXPECT_EQ(said.attention_scale, 0.125F);
  const ModelConfig none = model(text("gemma2", R"("attn_logit_softcapping": null,
      "final_logit_softcapping": null)"));
  EXPECT_EQ(none.attention_soft_cap, 0.0F);
  EXPECT_EQ(none.logit_soft_cap, 0.0F);
  EXPECT_THAT(model_error(text("gemma2", R"("query_pre_attn_scalar": 2.5)")),
              HasSubstr("query_pre_attn_scalar"));
  EXPECT_THAT(model_error(text("gemma3_text", R"("attn_logit_softcapping": 50.0)")),
              HasSubstr("is refused"));
}

}  // namespace
}  // namespace triax::test
