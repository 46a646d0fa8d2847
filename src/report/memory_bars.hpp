// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory by kind, planned beside used.
#include <nlohmann/json.hpp>
#include <string>

namespace triax {

/// A figure of the event "memory" as RunData has it; empty if it is null.
std::string memory_html(const std::string& title, const nlohmann::ordered_json& event);

}  // namespace triax
