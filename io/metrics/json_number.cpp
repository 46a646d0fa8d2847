// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/json_number.hpp"

#include <fmt/format.h>

#include <cmath>

namespace triax {

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

}  // namespace triax
