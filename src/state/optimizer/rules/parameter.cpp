// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/rules/parameter.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace triax {
namespace {
using enum KeyType;

// Parameters with a member of OptimizerConfig.
constexpr const char* members[] = {"lr", "betas", "weight_decay", "stochastic_rounding"};

RuleParameter implementation(const char* name) {
  return {accepted(optimizer_path(name), any, nullptr, "selects an implementation in PyTorch")};
}

}  // namespace

std::string RuleParameter::name() const {
  return key.path.substr(key.path.rfind('.') + 1);
}

bool RuleParameter::is_number() const {
  return key.treatment == Treatment::obeyed &&
         std::ranges::find(members, name()) == std::end(members);
}

void RuleParameter::add_to(std::map<std::string, double>& numbers,
                           const nlohmann::json& value) const {
  if (value.is_null()) return;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      numbers.try_emplace(name() + "." + std::to_string(i), value[i].get<double>());
  } else if (value.is_string()) {
    const auto& words = key.allowed.choices;
    numbers.try_emplace(
        name(),
        static_cast<double>(std::ranges::find(words, value.get<std::string>()) - words.begin()));
  } else {
    numbers.try_emplace(name(),
                        value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>());
  }
}

std::string optimizer_path(const std::string& name) {
  return "optimizer.params." + name;
}

Key optimizer_key(const std::string& name, KeyType type, nlohmann::json default_value,
                  Allowed allowed, std::string meaning) {
  return obeyed(optimizer_path(name), type, std::move(default_value), std::move(allowed),
                std::move(meaning));
}

RuleParameter betas_parameter(double beta1, double beta2, std::string meaning) {
  const auto value = nlohmann::json::array({beta1, beta2});
  return {optimizer_key("betas", numbers, value, from_below(0, 1), std::move(meaning)).or_auto(),
          value};
}

RuleParameter epsilon_parameter(double value, std::string meaning) {
  return {optimizer_key("eps", number, value, above(0), std::move(meaning)).or_auto(), 1e-8};
}

RuleParameter refused_parameter(const std::string& name, KeyType type, nlohmann::json value,
                                std::string meaning, std::string reason) {
  return {
      refused(optimizer_path(name), type, std::move(value), std::move(meaning), std::move(reason))};
}

std::vector<RuleParameter> with_common(double rate, std::vector<RuleParameter> own,
                                       const std::string& decay) {
  std::vector<RuleParameter> all = {
      {optimizer_key("lr", number, rate, at_least(0),
                     "learning rate; auto: 5e-5, as in Hugging Face's TrainingArguments")
           .or_auto(),
       5e-5}};
  std::ranges::move(own, std::back_inserter(all));
  all.push_back({optimizer_key("weight_decay", number, 0.0, at_least(0), decay).or_auto(), 0.0});
  all.push_back({optimizer_key(
      "stochastic_rounding", boolean, false, anything(),
      "round 16-bit weights from their float32 masters stochastically, without bias")});
  all.push_back(refused_parameter("maximize", boolean, false, "ascend", "triax descends"));
  all.push_back(refused_parameter("max_grad_norm", number, 0.0, "clipping, by its old name",
                                  "DeepSpeed ignores it too; set gradient_clipping"));
  for (const auto* name : {"torch_adam", "fused", "foreach", "capturable", "differentiable",
                           "set_grad_none", "fp32_optimizer_states"})
    all.push_back(implementation(name));
  return all;
}

}  // namespace triax
