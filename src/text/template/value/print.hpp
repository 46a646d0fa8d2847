// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values as text: str() and repr() of Python.
#include <string>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// str(value), which {{ value }} shows. Fault for functions, generators and objects, whose text in
/// Python has an address of memory.
std::string print(const Value& value);
/// repr(value): texts in quotes.
std::string representation(const Value& value);
/// Shortest decimal digits that read back the same: "1.0", "1e-07".
std::string float_text(double value);

}  // namespace triax::jinja
