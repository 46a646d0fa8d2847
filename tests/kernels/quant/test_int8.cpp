// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/int8.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/quant/frozen.hpp"

namespace triax {
namespace {

using test::elements;
using test::view;

// A row of zeros among them.
TEST(Int8, IsThatOfBitsandbytes) {
  const auto& one = test::frozen()["int8"];
  const std::int64_t rows = one["rows"], columns = one["columns"];
  std::vector<float> values = test::made_values(rows * columns, 3);
  std::fill(values.begin() + columns, values.begin() + 2 * columns, 0.0F);
  std::vector<std::uint8_t> codes(values.size());
  std::vector<float> scales(static_cast<std::size_t>(rows)), decoded(values.size());
  const Shape shape{rows, columns};
  quantize_int8(Stream{}, view(codes).reshape(shape), view(scales), view(values).reshape(shape));
  EXPECT_EQ(codes, elements<std::uint8_t>(one["codes"]));
  EXPECT_EQ(scales, elements<float>(one["scales"]));
  dequantize_int8(Stream{}, view(decoded).reshape(shape), view(codes).reshape(shape), view(scales));
  EXPECT_EQ(decoded, elements<float>(one["decoded"]));
}

}  // namespace
}  // namespace triax
