// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts token ids of any integer type on disk to int32. Internal to io/.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "io/files/mapped_file.hpp"

namespace triax {

/// Converts out.size() tokens of type T from `from`, at any alignment. Ids outside int32 saturate,
/// to values that no vocabulary contains, instead of wrapping to ids that look valid.
template <class T>
void convert_tokens(const std::byte* from, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const T token = load<T>(from + i * sizeof(T));
    if (std::in_range<std::int32_t>(token))
      out[i] = static_cast<std::int32_t>(token);
    else
      out[i] = std::cmp_less(token, 0) ? std::numeric_limits<std::int32_t>::min()
                                       : std::numeric_limits<std::int32_t>::max();
  }
}

}  // namespace triax
