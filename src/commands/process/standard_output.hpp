// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standard output of the commands.
#include <string_view>

namespace triax {

/// Writes `text` to standard output and flushes it. Error if that fails (a full disk).
void print_out(std::string_view text);

}  // namespace triax
