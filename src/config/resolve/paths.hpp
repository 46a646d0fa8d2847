// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search for the files that a job names.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/config/keys/settings.hpp"

namespace triax {

/// Files that `paths` (a path or pattern, or a list of them, of data.train or data.valid) stands
/// for, each as the pattern of its name alone (pattern_of). Patterns are expanded and their matches
/// sorted; a Megatron pair is listed as its .bin, and a Megatron prefix, which names both files and
/// is none itself, stands for the pair. "**" and anything but a regular file are errors. A pattern
/// that matches nothing, or cannot be looked at, is kept as written and named in `missing`.
std::vector<std::string> data_files(Settings& settings, const std::string& key,
                                    const nlohmann::json& paths, const std::string& job_file,
                                    ErrorList& errors, ErrorList& missing);

/// Warns of files that occur more than once in data.train (an .idx counts as its .bin) and of files
/// of data.valid that are also in data.train. Links count as the file they lead to.
void warn_of_repeated(Settings& settings, const std::vector<std::string>& train,
                      const std::vector<std::string>& valid);

}  // namespace triax
