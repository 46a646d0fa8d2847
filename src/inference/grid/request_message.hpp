// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests and outputs as messages between ranks.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "src/inference/engine/engine.hpp"

namespace triax {

nlohmann::json json_of(const GenerationRequest& request);
GenerationRequest request_of(const nlohmann::json& json);
nlohmann::json json_of(const GenerationOutput& output);
GenerationOutput output_of(const nlohmann::json& json);
nlohmann::json json_of(const EngineState& state);
EngineState state_of(const nlohmann::json& json);

/// A JSON value as numbers for a MessageLine, and back: every number with all its bits.
std::vector<std::int32_t> packed(const nlohmann::json& json);
nlohmann::json unpacked(std::span<const std::int32_t> numbers);

}  // namespace triax
