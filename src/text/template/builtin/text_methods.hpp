// SPDX-License-Identifier: Apache-2.0
#pragma once
// Methods of texts, with Python's meaning.
#include <string>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// A method bound to the text; undefined where there is none of this name.
Value text_method(const Value& text, const std::string& name);

/// The first `count` places of `old` replaced, all for a negative count. Fault for a result that is
/// too long.
std::string replaced(const std::string& text, const std::string& old, const std::string& by,
                     std::int64_t count);

}  // namespace triax::jinja
