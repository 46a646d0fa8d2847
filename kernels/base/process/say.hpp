// SPDX-License-Identifier: Apache-2.0
#pragma once
// Output to standard error that cannot fail. Use it instead of fmt::print and std::cerr.
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace triax {

/// Writes `text` to standard error at once. Text that cannot be written (full disk, closed pipe) is
/// lost; fmt::print would throw and end the run.
void say_text(std::string_view text);

/// Formats and writes as say_text(); the text includes its end of line.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  say_text(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace triax
