// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers as JSON that read back bit for bit.
#include <string>

namespace triax {

/// Shortest decimal that reads back as the same double, always with a point or an exponent, so that
/// readers parse a floating-point number. NaN and infinity, which JSON lacks, become null.
std::string json_number(double value);

}  // namespace triax
