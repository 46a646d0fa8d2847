// SPDX-License-Identifier: Apache-2.0
#pragma once
// Commands that a message suggests.
#include <string>

namespace triax {

/// `text` as one word of a POSIX shell: unchanged if it has no character special to a shell, else
/// in single quotes.
std::string shell_word(const std::string& text);

}  // namespace triax
