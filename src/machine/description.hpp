// SPDX-License-Identifier: Apache-2.0
#pragma once
// Machine descriptions in JSON.
#include <string>

#include "src/machine/machine.hpp"

namespace triax {

/// The machine that --machine names: a preset, or a JSON file. UsageError if it is neither.
Machine find_machine(const std::string& name_or_file);

/// Reads a description. {"like": "h100", ...} takes what is absent from a preset; without it all
/// figures that machine_keys() requires, and FLOP/s of at least one type, must be there. UsageError
/// with every error: key, line, problem; a figure beyond its row's bounds is refused.
Machine parse_machine(const std::string& text, const std::string& file);

/// The description as JSON, which parse_machine reads back.
std::string machine_json(const Machine& machine);

}  // namespace triax
