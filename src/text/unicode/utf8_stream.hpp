// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole characters out of bytes that come in pieces.
#include <string>
#include <string_view>

namespace triax {

/// Passes UTF-8 on, character by character: bytes that may yet become a character wait, and a byte
/// that can be part of none becomes U+FFFD at once.
class Utf8Stream {
 public:
  std::string next(std::string_view bytes);
  /// U+FFFD for each byte that still waits, at the end.
  std::string rest();

 private:
  std::string held_;  // up to 3 bytes, which begin a character
};

/// Number of code points of valid UTF-8.
std::size_t code_points(std::string_view text);

}  // namespace triax
