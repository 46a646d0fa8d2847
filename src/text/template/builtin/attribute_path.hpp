// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attributes that filters name: "function.name", "0.key", 1.
#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// The part of an item that a path names; undefined where there is none. None: the item itself.
Value part_at(const Value& item, const Value& path);

}  // namespace triax::jinja
