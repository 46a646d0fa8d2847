// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/rules/rules.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "src/state/optimizer/rules/parameter.hpp"
#include "tests/config/job_files.hpp"
#include "tests/support/error_of.hpp"

namespace triax {
namespace {
using nlohmann::json;
using testing::HasSubstr;

// A parameter that a job's optimizer steps.
struct Stepped {
  Stepped(const Config& config, std::vector<float> start)
      : config(complete(config.optimizer)),
        rule(optimizer_rule(config.optimizer.type)),
        parameter(std::move(start)),
        states(most_states, std::vector<float>(parameter.size())) {}
  void step(std::vector<float> gradient, std::int64_t number) {
    float factor = 1.0F;
    UpdateTensors tensors{view(parameter), {}, view(gradient), Tensor(&factor, {1})};
    for (std::size_t s = 0; s < rule.states(config).size(); ++s)
      tensors.states[s] = view(states[s]);
    UpdateStep step{
        config, config.learning_rate, config.weight_decay, config.beta1, config.beta2, number, {},
        {}};
    step.updates.fill(number);
    rule.update(Stream(), tensors, step);
  }
  static Tensor view(std::vector<float>& values) {
    return Tensor(values.data(), {static_cast<std::int64_t>(values.size())});
  }
  OptimizerConfig config;
  const OptimizerRule& rule;
  std::vector<float> parameter;
  std::vector<std::vector<float>> states;
};

class Rules : public testing_support::JobFiles {
 protected:
  Config config_of(const std::string& type, const json& params) const {
    const json job = {{"optimizer", {{"type", type}, {"params", params}}}};
    const std::string members = job.dump();
    return this->config(", " + members.substr(1, members.size() - 2));
  }
  std::string error_of_groups(const std::string& groups) const {
    return error(R"(, "optimizer": {"groups": )" + groups + "}");
  }
};

// tests/golden/optimizers.json, through the keys of a job.
TEST_F(Rules, StepAsPyTorchLionAndAdanDo) {
  std::ifstream file(TRIAX_SOURCE_DIR "/tests/golden/optimizers.json");
  const json golden = json::parse(file);
  std::set<std::string> tried;
  for (const json& expected : golden["cases"]) {
    SCOPED_TRACE(expected["type"].get<std::string>() + " " + expected["params"].dump());
    Stepped stepped(config_of(expected["type"], expected["params"]), golden["start"]);
    for (std::int64_t step = 1; step <= std::ssize(golden["gradients"]); ++step) {
      stepped.step(golden["gradients"][static_cast<std::size_t>(step - 1)], step);
      const auto shown = expected["parameters"].find(std::to_string(step));
      if (shown == expected["parameters"].end()) continue;
      const auto values = shown->get<std::vector<double>>();
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_NEAR(stepped.parameter[i], values[i], 2e-6) << "step " << step << " element " << i;
    }
    tried.insert(expected["type"]);
  }
  EXPECT_EQ(tried.size(), optimizer_rules().size());
}

TEST_F(Rules, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const OptimizerRule* row : optimizer_rules()) {
    SCOPED_TRACE(row->name);
    EXPECT_TRUE(names.insert(row->name).second);
    for (const char* other : row->other_names) {
      EXPECT_TRUE(names.insert(other).second);
      EXPECT_EQ(config_of(other, json::object()).optimizer.type, row->name) << other;
    }
    EXPECT_EQ(&optimizer_rule(row->name), row);
    std::set<std::string> parameters;
    for (const RuleParameter& parameter : row->parameters()) {
      EXPECT_TRUE(parameters.insert(parameter.key.path).second) << parameter.key.path;
      EXPECT_TRUE(parameter.key.scope.empty()) << parameter.key.path;
    }
    OptimizerConfig config;
    config.type = row->name;
    EXPECT_LE(states_of(config).size(), most_states);
    EXPECT_EQ(config_of(row->name, json::object()).optimizer.numbers, complete(config).numbers);
  }
  EXPECT_THAT(test::error_of([] { optimizer_rule("Frob"); }), HasSubstr("Frob"));
}

TEST_F(Rules, HaveTheirOwnParameters) {
  EXPECT_EQ(config_of("lion", json::object()).optimizer.beta2, 0.99);
  EXPECT_EQ(config_of("LION_32BIT", {{"lr", "auto"}}).optimizer.learning_rate, 5e-5);
  EXPECT_EQ(config_of("Adagrad", json::object()).optimizer.learning_rate, 1e-2);
  EXPECT_TRUE(states_of(config_of("SGD", json::object()).optimizer).empty());
  EXPECT_EQ(states_of(config_of("SGD", {{"momentum", 0.9}}).optimizer).size(), 1U);
  const auto error_with = [&](const std::string& type, const std::string& params) {
    return error(R"(, "optimizer": {"type": ")" + type + R"(", "params": )" + params + "}");
  };
  EXPECT_THAT(error_with("SGD", R"({"betas": [0.9, 0.99]})"),
              HasSubstr("a key of AdamW, Adam, AdamW8bit, Adan, Lion, Muon, not of optimizer.type "
                        "\"SGD\""));
  EXPECT_THAT(error_with("AdamW", R"({"momentum": 0.9})"), HasSubstr("a key of Muon, SGD"));
  EXPECT_THAT(error_with("Lion", R"({"beta": 0.9})"), HasSubstr("nearest: optimizer.params.betas"));
  EXPECT_THAT(error_with("SGD", R"({"nesterov": true})"), HasSubstr("needs a momentum above 0"));
  EXPECT_THAT(error_with("Lion", R"({"betas": [0.9]})"), HasSubstr("expected two numbers"));
  EXPECT_THAT(error_with("AdamW8bit", R"({"min_8bit_size": 1024})"), HasSubstr("it is 4096 here"));
  EXPECT_THAT(error_with("paged_adamw_8bit", "{}"), HasSubstr("is not built yet. Use \"AdamW\""));
  EXPECT_THAT(error_with("Adan", R"({"betas": [0.9, 0.9, 0.9]})"),
              HasSubstr("expected two numbers"));
  EXPECT_THAT(error_with("Adagrad", R"({"initial_accumulator_value": 0.1})"), HasSubstr("refused"));
}

TEST_F(Rules, GroupsHaveOptionsInProportion) {
  const auto groups = config(R"(, "optimizer": {"params": {"lr": 4e-4}, "groups":
          [{"match": "*.bias", "weight_decay": 0.2}, {"match": "*wte*", "lr": 1e-4}]})")
                          .optimizer.groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0], (OptimizerGroup{"*.bias", 1.0, 0.2}));
  EXPECT_EQ(groups[1], (OptimizerGroup{"*wte*", 0.25, {}}));
  EXPECT_EQ(config(R"(, "optimizer": {"groups": [{"match": "*", "lr": 1e-4}]},
      "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 2e-4}})")
                .optimizer.groups[0]
                .rate,
            0.5)
      << "the schedule has the highest rate";
}

TEST_F(Rules, GroupsThatSayNothingAreRefused) {
  EXPECT_THAT(error_of_groups(R"([{"match": "*"}])"), HasSubstr("group 1: sets nothing"));
  EXPECT_THAT(error_of_groups(R"([{"match": "*", "lr": 1}, {"lr": 1}])"),
              HasSubstr("group 2: no \"match\""));
  EXPECT_THAT(error_of_groups(R"([{"match": "*", "learning": 1}])"),
              HasSubstr("unknown key \"learning\" (nearest: "));
  EXPECT_THAT(error_of_groups(R"([{"match": "*", "lr": -1}])"), HasSubstr("at least 0, got -1"));
  EXPECT_THAT(error_of_groups(R"([{"match": 5, "lr": 1}])"), HasSubstr("a pattern, got 5"));
  EXPECT_THAT(error_of_groups(R"(["*"])"), HasSubstr("expected an object"));
  EXPECT_THAT(error(R"(, "optimizer": {"params": {"lr": 0}, "groups": [{"match": "*", "lr": 1}]})"),
              HasSubstr("optimizer.params.lr, which is 0"));
}

}  // namespace
}  // namespace triax
