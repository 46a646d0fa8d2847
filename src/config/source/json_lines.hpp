#pragma once
// JSON with what people put into configurations, and the line on which each key was written.
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

/// Parses an object; comments (//, /* */ and #) and a comma behind the last element are allowed. A
/// syntax error ("file:3: not JSON at line 3, column 7 ..."), a root that is no object and nesting
/// beyond 64 levels throw UsageError; keys written twice are added to `errors`.
JsonDocument parse_json(const std::string& text, const std::string& file, ErrorList& errors);

/// The value of "--set KEY=TEXT": JSON, without comments, or where the text is none, the text
/// itself. Keys written twice in it are added to `errors`.
nlohmann::json parse_override(const std::string& key, const std::string& text, ErrorList& errors);

/// The file's text; UsageError where it cannot be read.
std::string read_text(const std::string& path);

}  // namespace triax
