// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/element_numbers.hpp"

#include <algorithm>

#include "kernels/random/random.hpp"

namespace triax {

void ElementNumbers::words(std::uint32_t* to, std::int64_t begin, std::int64_t end) const {
  std::fill(to, to + (end - begin), 0U);
  const std::int64_t first = offset + begin, last = offset + end;
  if (first == last) return;
  for (int b = 0; b < count; ++b) {
    const Box& box = boxes[static_cast<std::size_t>(b)];
    const std::int64_t rows_end = std::min(box.row + box.rows, (last - 1) / columns + 1);
    for (std::int64_t row = std::max(box.row, first / columns); row < rows_end; ++row) {
      const std::int64_t at = row * columns + box.column;  // start of the box in this row
      const std::int64_t from = std::max(first, at), until = std::min(last, at + box.columns);
      if (from < until)
        random_words(to + (from - first), until - from, box.key,
                     box.first + (row - box.row) * box.width + (from - at));
    }
  }
}

}  // namespace triax
