// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of numbers on the command line.
#include <functional>
#include <string>

namespace triax {

/// Check as CLI11 takes it: returns what is wrong with a text, or nothing.
using Check = std::function<std::string(const std::string&)>;

Check number(double least, double most);
Check whole_number(double least, double most);

/// Argument of CLI11's transform(): a number of bytes from 1 on, as 5000000000, 5GB or 5GiB, which
/// becomes digits alone.
std::function<std::string(std::string&)> size();

}  // namespace triax
