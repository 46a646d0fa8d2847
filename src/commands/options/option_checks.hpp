// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of numbers on the command line.
#include <functional>
#include <string>

namespace triax {

/// Validator of CLI11: returns an error text, or "" if the argument is valid.
using Check = std::function<std::string(const std::string&)>;

Check number(double least, double most);
Check whole_number(double least, double most);

/// Argument of CLI11's transform(): replaces a size of at least 1 byte, as 5000000000, 5GB or 5GiB,
/// by its number of bytes.
std::function<std::string(std::string&)> size();

}  // namespace triax
