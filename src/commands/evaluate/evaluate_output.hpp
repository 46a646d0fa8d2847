// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results of an evaluation as text.
#include <nlohmann/json.hpp>
#include <string>

namespace triax {

/// A block per task: its metrics, with their standard errors.
std::string evaluation_text(const nlohmann::ordered_json& results);

}  // namespace triax
