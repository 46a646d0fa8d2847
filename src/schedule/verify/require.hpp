// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refusal of a plan.
#include <stdexcept>
#include <string>

namespace triax {

/// Throws std::logic_error(text) unless `ok`.
inline void require(bool ok, const char* text) {
  if (!ok) throw std::logic_error(text);
}
inline void require(bool ok, const std::string& text) {
  require(ok, text.c_str());
}

}  // namespace triax
