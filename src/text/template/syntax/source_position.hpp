// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors that say where in a template they are.
#include <string>
#include <string_view>

#include "kernels/base/check.hpp"

namespace triax::jinja {

/// A template's text with its name for messages.
struct Source {
  std::string name;  // "DIR/chat_template.jinja"
  std::string text;  // line ends are "\n"
};

/// "NAME:LINE:COLUMN" of an offset in bytes; both count from 1, the column in code points.
std::string position_text(const Source& source, std::size_t at);

/// "NAME:LINE:COLUMN: what".
UsageError template_error(const Source& source, std::size_t at, const std::string& what,
                          const std::string& why = {}, const std::string& what_to_do = {});

}  // namespace triax::jinja
