// SPDX-License-Identifier: Apache-2.0
#pragma once
// Modules that PEFT's words stand for: lists of last parts of names, and regular expressions, which
// must match a whole name.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace triax {

/// Whether the regular expression `pattern` (ECMAScript's, near Python's) matches all of `name`.
/// UsageError if it is none.
bool matches_whole(const std::string& pattern, const std::string& name);

/// Whether `words` stand for a module: a string is a regular expression of its whole name, a list
/// has names or their last dotted parts. null: none.
bool names_module(const nlohmann::json& words, const std::string& module);

/// Whether `words` of modules_to_save, names or a list of them, stand for a module: its name ends
/// with one of them, within a part too ("norm" is every norm). null: no.
bool saves_module(const nlohmann::json& words, const std::string& module);

/// Whether `key` of rank_pattern or alpha_pattern stands for a module: it matches its name, or the
/// last dotted parts of it.
bool pattern_names(const std::string& key, const std::string& module);

/// Number of the block that a module lies in, as layers_to_transform counts: the number after a
/// part that one of `parents` matches; without any, the last number among the parts between others.
/// -1: none.
int block_of_module(const std::string& module, const std::vector<std::string>& parents);

}  // namespace triax
