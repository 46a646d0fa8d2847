// SPDX-License-Identifier: Apache-2.0
#include "src/config/lora/lora.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "kernels/base/check.hpp"
#include "tests/model/small_models.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LoraConfig read(const json& keys, const std::string& architecture = "llama") {
  std::vector<LoraProblem> problems;
  LoraConfig lora = read_lora(keys, small_model(architecture), problems);
  for (const LoraProblem& problem : problems) ADD_FAILURE() << problem.key << ": " << problem.text;
  return lora;
}

// "key: text" of the first problem.
std::string problem(const json& keys, const std::string& architecture = "llama") {
  std::vector<LoraProblem> problems;
  read_lora(keys, small_model(architecture), problems);
  return problems.empty() ? "" : problems.front().key + ": " + problems.front().text;
}

std::set<std::string> modules(const LoraConfig& lora) {
  std::set<std::string> names;
  for (const auto& [name, shape] : lora.modules) names.insert(name);
  return names;
}

TEST(Lora, DefaultsAreThoseOfPeft) {
  const LoraConfig lora = read(json::object());
  EXPECT_THAT(modules(lora),
              ElementsAre("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj",
                          "model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.v_proj"));
  EXPECT_EQ(lora.modules.begin()->second, (AdapterShape{8, 8.0, 1.0}));
  EXPECT_EQ(lora.dropout, 0.0F);
  EXPECT_EQ(lora.start, LoraStart::usual);
  EXPECT_THAT(modules(read(json::object(), "gpt2")),
              ElementsAre("transformer.h.0.attn.c_attn", "transformer.h.1.attn.c_attn"));
}

TEST(Lora, ScalesByAlphaAndTheRankOfEachModule) {
  const LoraConfig lora = read({{"r", 4},
                                {"lora_alpha", 6},
                                {"rank_pattern", {{"1.self_attn.q_proj", 16}}},
                                {"alpha_pattern", {{"v_proj", 3}}}});
  EXPECT_EQ(lora.modules.at("model.layers.0.self_attn.q_proj"), (AdapterShape{4, 6.0, 1.5}));
  EXPECT_EQ(lora.modules.at("model.layers.1.self_attn.q_proj"), (AdapterShape{16, 6.0, 0.375}));
  EXPECT_EQ(lora.modules.at("model.layers.1.self_attn.v_proj"), (AdapterShape{4, 3.0, 0.75}));
  const LoraConfig root = read({{"r", 4}, {"lora_alpha", 6}, {"use_rslora", true}});
  EXPECT_EQ(root.modules.begin()->second.scale, 3.0);
}

TEST(Lora, TargetsAreListsExpressionsOrAllLinearMaps) {
  EXPECT_EQ(modules(read({{"target_modules", "All-Linear"}})).size(), 14U);
  EXPECT_EQ(modules(read({{"target_modules", "all-linear"}}, "gpt2")).size(), 8U);
  EXPECT_THAT(modules(read({{"target_modules", R"(.*\.1\.mlp\.(up|gate)_proj)"}})),
              ElementsAre("model.layers.1.mlp.gate_proj", "model.layers.1.mlp.up_proj"));
  EXPECT_THAT(modules(read({{"target_modules", "all-linear"},
                            {"exclude_modules", R"(.*(self_attn|gate|up).*)"}})),
              ElementsAre("model.layers.0.mlp.down_proj", "model.layers.1.mlp.down_proj"));
  EXPECT_THAT(modules(read({{"target_modules", {"o_proj"}}, {"layers_to_transform", 1}})),
              ElementsAre("model.layers.1.self_attn.o_proj"));
  EXPECT_THAT(modules(read({{"target_modules", {"o_proj"}},
                            {"layers_to_transform", {0}},
                            {"layers_pattern", {"layers"}}})),
              ElementsAre("model.layers.0.self_attn.o_proj"));
}

TEST(Lora, StartsAsPeftDoes) {
  EXPECT_EQ(read({{"init_lora_weights", false}}).start, LoraStart::random);
  EXPECT_EQ(read({{"init_lora_weights", "gaussian"}}).start, LoraStart::gaussian);
  EXPECT_THAT(problem({{"init_lora_weights", "pissa"}}),
              HasSubstr("init_lora_weights: \"pissa\" is not built"));
}

TEST(Lora, RefusesKeysThatChangeTheFunctionByName) {
  for (const char* key : {"lora_bias", "use_qalora"})
    EXPECT_THAT(problem({{key, true}}), HasSubstr(std::string(key) + ": is not built")) << key;
  EXPECT_THAT(problem({{"bias", "all"}}), HasSubstr("bias: \"all\""));
  EXPECT_EQ(problem({{"use_dora", false}, {"modules_to_save", nullptr}, {"loftq_config", {}}}), "");
  EXPECT_EQ(problem({{"some_key_of_a_later_peft", 3}}), "");
}

// PEFT compares the ends of names, within a part too.
TEST(Lora, TrainsNamedModulesWhole) {
  EXPECT_THAT(read({{"modules_to_save", {"lm_head", "model.norm"}}}).saved,
              ElementsAre("lm_head", "model.norm"));
  EXPECT_THAT(read({{"modules_to_save", {"1.input_layernorm"}}}).saved,
              ElementsAre("model.layers.1.input_layernorm"));
  EXPECT_EQ(read({{"modules_to_save", {"norm"}}}).saved.size(), 5U);
  EXPECT_THAT(read(json::object()).saved, IsEmpty());
  EXPECT_THAT(trained_tensors(read({{"modules_to_save", {"lm_head"}}, {"use_dora", true}})),
              ElementsAre("*.lora_[AB].weight", "*.lora_magnitude_vector", "lm_head"));
  // A module that is trained whole is no target, as in PEFT.
  EXPECT_EQ(read({{"target_modules", {"q_proj", "lm_head"}}, {"modules_to_save", {"lm_head"}}})
                .modules.size(),
            2U);
}

TEST(Lora, RefusesModulesThatCannotBeTrainedWhole) {
  EXPECT_THAT(problem({{"modules_to_save", {"up_proj"}}}),
              HasSubstr("modules_to_save: \"up_proj\" stands for model.layers.0.mlp.up_proj"));
  EXPECT_THAT(problem({{"modules_to_save", {"lm_haed"}}}),
              HasSubstr("is the name of no module of the model. Nearest: lm_head"));
  EXPECT_THAT(problem({{"modules_to_save", 3}}), HasSubstr("expected a string or a list"));
  ModelConfig tied = small_model("llama");
  tied.tied_embeddings = true;
  for (const char* name : {"embed_tokens", "lm_head"}) {
    std::vector<LoraProblem> problems;
    read_lora({{"modules_to_save", {name}}}, tied, problems);
    ASSERT_EQ(problems.size(), 1U) << name;
    EXPECT_THAT(problems[0].text, HasSubstr("embedding and head are one matrix"));
  }
}

TEST(Lora, MagnitudesStartFromTheBase) {
  EXPECT_TRUE(read({{"use_dora", true}}).dora);
  EXPECT_FALSE(read(json::object()).dora);
  EXPECT_THAT(problem({{"use_dora", true}, {"init_lora_weights", false}}), HasSubstr("use_dora: "));
  EXPECT_THAT(problem({{"use_dora", 1}}), HasSubstr("use_dora: expected true or false"));
}

TEST(Lora, RefusesWordsThatStandForNothing) {
  EXPECT_THAT(problem({{"target_modules", {"q_proj", "w_proj"}}}),
              HasSubstr("\"w_proj\" is the name of no linear map of the model"));
  EXPECT_THAT(problem({{"target_modules", "q_proj"}}), HasSubstr("no linear map is left to adapt"));
  EXPECT_THAT(problem({{"target_modules", {"q_proj", "lm_head"}}}),
              HasSubstr("stands for lm_head"));
  EXPECT_THAT(problem({{"target_modules", "("}}), HasSubstr("no regular expression"));
  EXPECT_THAT(problem({{"rank_pattern", {{"o_proj", 3}}}}),
              HasSubstr("rank_pattern: \"o_proj\" stands for no module that has an adapter"));
  EXPECT_THAT(problem({{"layers_pattern", "layers"}}), HasSubstr("without layers_to_transform"));
  EXPECT_THAT(problem({{"layers_to_transform", {0, 7}}}),
              HasSubstr("block 7 is none of the model's 2, 0 to 1"));
  EXPECT_THAT(problem({{"layers_to_transform", 0}, {"target_modules", "all-linear"}}),
              HasSubstr("a list"));
}

TEST(Lora, RefusesWrongNumbers) {
  EXPECT_THAT(problem({{"r", 0}}), HasSubstr("r: 0 is no rank"));
  EXPECT_THAT(problem({{"lora_alpha", 0}}), HasSubstr("lora_alpha: 0"));
  EXPECT_THAT(problem({{"lora_dropout", 1.0}}), HasSubstr("lora_dropout: 1.0"));
  EXPECT_THAT(problem({{"rank_pattern", {{"q_proj", 0}}}}), HasSubstr("rank_pattern: 0"));
  EXPECT_THAT(problem({{"alpha_pattern", {{"q_proj", "x"}}}}), HasSubstr("alpha_pattern: \"x\""));
}

TEST(Lora, AnAdapterConfigSaysTheSameAgain) {
  ModelConfig model = small_model("gpt2");
  const json keys = {{"r", 4},
                     {"lora_alpha", 16},
                     {"target_modules", "all-linear"},
                     {"exclude_modules", {"0.mlp.c_proj"}},
                     {"rank_pattern", {{"c_attn", 2}}},
                     {"lora_dropout", 0.25},
                     {"use_dora", true},
                     {"modules_to_save", {"ln_f"}},
                     {"use_rslora", true}};
  std::vector<LoraProblem> problems;
  model.lora = read_lora(keys, model, problems);
  const std::string text = adapter_config(model, "/base");
  const json written = json::parse(text);
  EXPECT_EQ(written["peft_type"], "LORA");
  EXPECT_EQ(written["base_model_name_or_path"], "/base");
  EXPECT_EQ(written["fan_in_fan_out"], true);
  EXPECT_EQ(written["target_modules"], (json{"c_attn", "c_fc", "c_proj"}));
  const LoraConfig again = lora_of_adapter(text, "file", model);
  EXPECT_EQ(again.modules, model.lora.modules);
  EXPECT_EQ(again.dropout, 0.25F);
  EXPECT_TRUE(again.dora);
  EXPECT_THAT(again.saved, ElementsAre("transformer.ln_f"));
  EXPECT_EQ(written["use_dora"], true);
  EXPECT_EQ(written["modules_to_save"], json{"ln_f"});
  EXPECT_EQ(again.keys, model.lora.keys);
}

TEST(Lora, RefusesFilesThatAreNoAdapterOfThePlainBase) {
  const auto error = [](const std::string& text) {
    return error_of([&] { lora_of_adapter(text, "dir/file", small_model("llama")); });
  };
  EXPECT_THAT(error("["), HasSubstr("dir/file is no adapter_config.json"));
  EXPECT_THAT(error(R"({"peft_type": "IA3"})"), HasSubstr("peft_type is \"IA3\""));
  for (const char* start : {"pissa", "pissa_niter_4", "olora", "corda", "loftq"})
    EXPECT_THAT(error(fmt::format(R"({{"init_lora_weights": "{}"}})", start)),
                HasSubstr("changed the base's weights"));
  EXPECT_THAT(error(R"({"r": 0, "lora_bias": true})"),
              HasSubstr("dir/file: lora_bias: is not built"));
  EXPECT_EQ(error(R"({"init_lora_weights": "eva"})"), "");
}

TEST(Lora, ComparesWhatAdaptersAre) {
  const LoraConfig all = read({{"target_modules", "all-linear"}});
  const LoraConfig listed =
      read({{"target_modules",
             {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}}});
  EXPECT_THAT(lora_changes(all, listed), IsEmpty());
  const LoraConfig other = read({{"r", 4}});
  EXPECT_THAT(lora_changes(read({{"r", 8}}), other),
              testing::Contains(HasSubstr("q_proj had rank 8, alpha 8, scale 1, and has rank 4")));
  EXPECT_THAT(lora_changes(read({{"target_modules", {"q_proj"}}}), read(json::object())),
              ElementsAre(HasSubstr("0.self_attn.v_proj had no adapter"),
                          HasSubstr("1.self_attn.v_proj had no adapter")));
  const LoraConfig saved = read({{"modules_to_save", {"lm_head"}}, {"use_dora", true}});
  EXPECT_THAT(lora_changes(saved, read(json::object())),
              ElementsAre(HasSubstr("adapters had magnitudes"),
                          "lm_head was trained whole, and is frozen now"));
  EXPECT_THAT(lora_changes(read(json::object()), saved),
              ElementsAre(HasSubstr("adapters had no magnitudes"),
                          "lm_head was frozen, and is trained whole now"));
}

}  // namespace
}  // namespace triax::test
