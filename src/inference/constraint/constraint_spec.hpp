// SPDX-License-Identifier: Apache-2.0
#pragma once
// The form that an answer must have, as a request names it.
#include <compare>
#include <cstdint>
#include <string>

namespace triax {

struct ConstraintSpec {
  enum class Kind : std::uint8_t {
    none,
    choice,       // text: a JSON list of texts; the answer is one of them
    regex,        // text: the regular expression
    json_object,  // any JSON object
    json_schema,  // text: the schema
  };
  Kind kind = Kind::none;
  std::string text = {};
  std::string before = {}, after = {};  // that stand around it
  auto operator<=>(const ConstraintSpec&) const = default;
};

}  // namespace triax
