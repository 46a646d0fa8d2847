// SPDX-License-Identifier: Apache-2.0
#pragma once
// A YAML file as JSON, with the line of each key.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/config/source/errors.hpp"

namespace triax {

struct YamlDocument {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  /// Path of each key ("lora_r", "datasets[0].path") -> its line, from 1. "" is the root.
  std::map<std::string, int> lines;
};

/// Reads one map. Plain scalars are what PyYAML makes of them (YAML 1.1: yes and no are booleans),
/// and numbers such as 1e-4, which PyYAML leaves to pydantic. Anchors, aliases and merges (<<) are
/// resolved. UsageError, with the line, for text that is not YAML, a root that is no map, several
/// documents, tags, and aliases that make more than 100,000 values. Keys written twice are added to
/// `errors`.
YamlDocument parse_yaml(const std::string& text, const std::string& file, ErrorList& errors);

}  // namespace triax
