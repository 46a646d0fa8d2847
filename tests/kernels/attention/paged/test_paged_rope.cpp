// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/paged/paged_rope.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

// Rows at any positions get what rope_forward gives the rows of a whole text, bit for bit.
TEST(PagedRope, RotatesAsRopeDoes) {
  constexpr std::int64_t length = 9, heads = 3, width = 12, pairs = 4;
  const Stream stream(MemorySpace::host);
  std::vector<float> table(2 * length * pairs),
      text = test::random_values(length * heads * width, 1);
  const std::vector<double> frequencies = {1.0, 0.5, 0.1, 0.01};
  const Tensor angles(table.data(), {2, length, pairs});
  rope_table(stream, angles, frequencies);
  std::vector<std::int32_t> positions = {8, 0, 3, 3};
  std::vector<float> rows;
  for (const std::int32_t p : positions)
    rows.insert(rows.end(), text.begin() + p * heads * width,
                text.begin() + (p + 1) * heads * width);
  paged_rope(stream, Tensor(rows.data(), {4, heads, width}), angles, Tensor(positions.data(), {4}));
  rope_forward(stream, Tensor(text.data(), {1, length, heads, width}), angles);
  for (std::size_t i = 0; i < positions.size(); ++i)
    EXPECT_TRUE(std::equal(text.begin() + positions[i] * heads * width,
                           text.begin() + (positions[i] + 1) * heads * width,
                           rows.begin() + static_cast<std::ptrdiff_t>(i) * heads * width))
        << i;
}

}  // namespace
}  // namespace triax
