// SPDX-License-Identifier: Apache-2.0
#pragma once
// Character classes of Unicode 16 as ranges of code points.
#include <cstdint>
#include <span>

namespace triax {

/// Starts of ranges with one class, ascending: code point << 4 | class, in the numbers of
/// src/text/unicode/classes.hpp. The range before the first one has class 0.
std::span<const std::uint32_t> class_ranges();

}  // namespace triax
