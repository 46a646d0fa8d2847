// SPDX-License-Identifier: Apache-2.0
#pragma once
// Methods of texts, lists and dicts that templates may call, and access to parts of a value.
#include <string>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// A method bound to its value; undefined where the kind has none of this name, and for methods
/// that change a value, which the sandbox hides.
Value method_of(const Value& value, const std::string& name);

/// value.name: a method or an attribute first, then an item of a dict.
Value attribute_of(const Value& value, const std::string& name);
/// value[key]: an item first, then a method.
Value item_of(const Value& value, const Value& key);

}  // namespace triax::jinja
