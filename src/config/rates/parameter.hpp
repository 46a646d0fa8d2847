// SPDX-License-Identifier: Apache-2.0
#pragma once
// A parameter of a learning-rate schedule, and checks that several schedules need.
#include <nlohmann/json.hpp>
#include <string>

#include "src/config/keys/key.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// A key of scheduler.params, with all that its schedule says of it.
struct RateParameter {
  Key key;                             // without scope: schedules may share a row
  nlohmann::json automatic = nullptr;  // the value of "auto", or the path of the key that has it
  bool required = false;               // to be given in the job
};

/// Path of the parameter `name` in the job.
std::string parameter_path(const std::string& name);
/// Row of the parameter `name`: obeyed() below scheduler.params.
Key parameter_key(const std::string& name, KeyType type, nlohmann::json default_value,
                  Allowed allowed, std::string meaning);

/// Refuses parameters of which the lower is more than the upper.
void check_order(Settings& settings, ErrorList& errors, const std::string& lower,
                 const std::string& upper);
/// Refuses a last rate `name` above the optimizer's, from which `curve` falls to it.
void check_falls(Settings& settings, ErrorList& errors, const std::string& name,
                 const std::string& curve);

}  // namespace triax
