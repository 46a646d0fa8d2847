// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of a quoted string.
#include <string>
#include <string_view>

namespace triax::jinja {

/// Content of a string without its quotes, its escapes resolved as Python does. Fault for one that
/// is no code point.
std::string text_of_literal(std::string_view inside);

}  // namespace triax::jinja
