// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sources of data.train: files, or several lists of files with weights.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

/// The value of data.train with the files found for its patterns (data_files): a list of them, or
/// of sources {"paths": [...], "weight": ...}. Anything else is added to `errors`.
nlohmann::json train_files(Settings& settings, const std::string& job_file, ErrorList& errors,
                           ErrorList& missing);

/// Patterns of all files in such a value, in its order.
std::vector<std::string> patterns_of_sources(const nlohmann::json& value);

/// Sources in such a value; empty if it is a list of files.
std::vector<DataSource> data_sources(const nlohmann::json& value);

}  // namespace triax
