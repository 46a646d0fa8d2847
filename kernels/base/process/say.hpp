#pragma once
// Standard error, for a run that goes on whether or not anyone hears it.
#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace triax {

/// Writes `text` to standard error at once. What cannot be written (a full disk, a pipe that
/// nobody reads) is lost: fmt::print would throw, and end the run.
void say_text(std::string_view text);

/// The same of a formatted text, which brings its own end of line.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  say_text(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace triax
