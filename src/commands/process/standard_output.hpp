// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standard output of the commands.
#include <string_view>

namespace triax {

/// Writes `text` to standard output and flushes it. Error if that fails (a full disk). A closed
/// standard output is /dev/null.
void print_out(std::string_view text);

/// As print_out(), for a line about files that are complete: a failure is only a warning.
void print_summary(std::string_view text);

}  // namespace triax
