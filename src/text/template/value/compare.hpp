// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparisons of values as Python has them.
#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// ==; values of different kinds differ, but 1 == 1.0 == true.
bool equal(const Value& a, const Value& b);
/// <; Fault where Python has no order for the two.
bool less(const Value& a, const Value& b);
/// `item in container`; Fault where the container is none.
bool contains(const Value& container, const Value& item);

}  // namespace triax::jinja
