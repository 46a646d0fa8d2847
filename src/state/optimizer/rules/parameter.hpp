// SPDX-License-Identifier: Apache-2.0
#pragma once
// A parameter of an optimizer, and parameters that several optimizers have.
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/config/keys/key.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// A key of optimizer.params.
struct RuleParameter {
  Key key;                             // without scope: optimizers may share a row
  nlohmann::json automatic = nullptr;  // the value of "auto"

  std::string name() const;  // in optimizer.params
  /// Whether it belongs to OptimizerConfig::numbers: obeyed, and no member of OptimizerConfig.
  bool is_number() const;
  /// Adds the numbers of a value that are not there yet: a switch is 0 or 1, a word its place among
  /// the choices, null nothing; numbers of a list have names "ns_coefficients.0", ...
  void add_to(std::map<std::string, double>& numbers, const nlohmann::json& value) const;
};

/// Path of the parameter `name` in the job.
std::string optimizer_path(const std::string& name);
/// obeyed() below optimizer.params.
Key optimizer_key(const std::string& name, KeyType type, nlohmann::json default_value,
                  Allowed allowed, std::string meaning);

/// lr, the parameters `own`, weight_decay with its meaning, and what every optimizer has.
std::vector<RuleParameter> with_common(double rate, std::vector<RuleParameter> own,
                                       const std::string& decay);
/// betas, for OptimizerConfig::beta1 and beta2.
RuleParameter betas_parameter(double beta1, double beta2, std::string meaning);
RuleParameter epsilon_parameter(double value, std::string meaning);
/// A key that is refused, with the reason, unless it has its default.
RuleParameter refused_parameter(const std::string& name, KeyType type, nlohmann::json value,
                                std::string meaning, std::string reason);

inline constexpr const char* decoupled_decay =
    "decoupled decay of tensors of two or more dimensions";
inline constexpr const char* decay_in_gradient =
    "decay of tensors of two or more dimensions, added to the gradient";

}  // namespace triax
