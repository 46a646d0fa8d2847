// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON with comments and trailing commas, and the line of each key.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "src/config/source/errors.hpp"

namespace triax {

struct JsonDocument {
  nlohmann::json root;
  /// Dotted path of each key ("parallel.tensor") -> its line, from 1. Keys inside arrays have none.
  /// "" is the root, on the line of its brace.
  std::map<std::string, int> lines;
};

/// Parses an object. Comments (//, /* */ and #) and a comma after the last element are allowed.
/// Throws UsageError on a syntax error ("file:3: not JSON at line 3, column 7 ..."), text in
/// UTF-16, a root that is not an object, and nesting beyond 64 levels. Keys written twice are added
/// to `errors`.
JsonDocument parse_json(const std::string& text, const std::string& file, ErrorList& errors);

/// The value of "--set KEY=TEXT": TEXT as JSON without comments or, if it is not JSON, as a string.
/// Keys written twice in it are added to `errors`.
nlohmann::json parse_override(const std::string& key, const std::string& text, ErrorList& errors);

/// The file's text. Throws UsageError if it cannot be read or is HDF5.
std::string read_text(const std::string& path);

}  // namespace triax
