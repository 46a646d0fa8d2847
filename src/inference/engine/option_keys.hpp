// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of the paged engine from --set inference.KEY=VALUE.
#include "src/config/load/command_keys.hpp"
#include "src/inference/engine/engine_options.hpp"

namespace triax {

/// The section that a command with an engine takes (CommandKeys).
inline constexpr const char* engine_section = "inference.";

/// The options, from keys that took engine_section. UsageError for values that are wrong together.
EngineOptions engine_options(const CommandKeys& keys);

}  // namespace triax
