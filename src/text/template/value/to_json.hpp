// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON text as json.dumps of Python writes it.
#include <string>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

struct JsonStyle {
  bool ascii = false;                      // ensure_ascii
  bool lines = false;                      // indent is given: one item per line
  std::string indent;                      // of one level
  std::string between = ", ", key = ": ";  // separators
  bool sorted = false;                     // sort_keys
};

/// Fault for a value that JSON does not have (functions, undefined values).
std::string to_json(const Value& value, const JsonStyle& style);

}  // namespace triax::jinja
