// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/packed_box.hpp"

#include <gtest/gtest.h>

#include "kernels/quant/four_bit.hpp"
#include "kernels/quant/int8.hpp"
#include "kernels/quant/nested_scales.hpp"
#include "tests/kernels/quant/frozen.hpp"

namespace triax {
namespace {

using test::view;

// A matrix in its own bits, and its decoded values.
struct Whole {
  Whole(QuantFormat format, std::int64_t outputs, std::int64_t inputs)
      : box{format, outputs, inputs, 0, outputs, 0, inputs}, bytes(bytes_for(box)) {
    values = test::made_values(outputs * inputs, 4);
    const PackedParts parts(box, all());
    if (format == QuantFormat::int8) {
      quantize_int8(Stream{}, parts.codes.reshape({outputs, inputs}), parts.scales,
                    view(values).reshape({outputs, inputs}));
    } else {
      std::vector<float> scales(static_cast<std::size_t>(box.scales()));
      quantize_4bit(Stream{}, parts.codes, view(scales), view(values), box.type(), usual_group);
      if (box.nested())
        *parts.offset = quantize_scales(Stream{}, parts.scale_codes, parts.outer, view(scales));
      else
        std::copy(scales.begin(), scales.end(), parts.scales.as<float>());
    }
    decode(box, all(), 0, 0, view(values).reshape({outputs, inputs}));
  }

  static std::vector<float> bytes_for(const PackedBox& box) {
    return std::vector<float>(static_cast<std::size_t>((box.bytes() + 3) / 4));
  }
  Tensor all() { return {static_cast<void*>(bytes.data()), DType::u8, {box.bytes()}}; }

  static void decode(const PackedBox& box, const Tensor& bytes, std::int64_t row,
                     std::int64_t column, const Tensor& out) {
    const PackedParts parts(box, bytes);
    std::vector<float> scales(static_cast<std::size_t>(box.scales()));
    if (box.nested()) unpack_scales(Stream{}, view(scales), box, parts);
    decode_tile(Stream{}, out, box, parts, box.nested() ? view(scales) : parts.scales, row, column);
  }

  PackedBox box;
  std::vector<float> bytes, values;
};

// Copies a box out of a whole matrix, as a rank loads it.
std::vector<float> cut(Whole& whole, const PackedBox& box) {
  std::vector<float> made = Whole::bytes_for(box);
  const PackedParts from(whole.box, whole.all());
  const PackedParts to(box, Tensor(static_cast<void*>(made.data()), DType::u8, {box.bytes()}));
  if (!box.four_bits()) {
    std::copy_n(from.scales.as<float>() + box.first_output, box.rows, to.scales.as<float>());
    for (std::int64_t r = 0; r < box.rows; ++r)
      std::copy_n(
          from.codes.as<std::uint8_t>() + (box.first_output + r) * box.inputs + box.first_input,
          box.columns, to.codes.as<std::uint8_t>() + r * box.columns);
    return made;
  }
  for (const PackedSegment& segment : segments_of(box)) {
    const std::int64_t count = segment.end - segment.begin;
    const std::int64_t group = segment.begin / usual_group, at = segment.at / usual_group;
    std::copy_n(from.codes.as<std::uint8_t>() + segment.begin / 2, four_bit_bytes(count),
                to.codes.as<std::uint8_t>() + segment.at / 2);
    if (box.nested())
      std::copy_n(from.scale_codes.as<std::uint8_t>() + group, groups_of(count, usual_group),
                  to.scale_codes.as<std::uint8_t>() + at);
    else
      std::copy_n(from.scales.as<float>() + group, groups_of(count, usual_group),
                  to.scales.as<float>() + at);
  }
  if (box.nested()) {
    std::copy_n(from.outer.as<float>(), box.outer_scales(), to.outer.as<float>());
    *to.offset = *from.offset;
  }
  return made;
}

void expect_tile(Whole& whole, const PackedBox& box, std::int64_t row, std::int64_t column,
                 std::int64_t rows, std::int64_t columns) {
  std::vector<float> bytes = cut(whole, box), out(static_cast<std::size_t>(rows * columns));
  Whole::decode(box, Tensor(static_cast<void*>(bytes.data()), DType::u8, {box.bytes()}), row,
                column, view(out).reshape({rows, columns}));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      ASSERT_EQ(out[static_cast<std::size_t>(r * columns + c)],
                whole.values[static_cast<std::size_t>((box.first_output + row + r) * box.inputs +
                                                      box.first_input + column + c)])
          << name_of(box.format) << " at " << row + r << ", " << column + c;
}

constexpr QuantFormat formats[] = {QuantFormat::nf4, QuantFormat::nf4_double, QuantFormat::fp4,
                                   QuantFormat::fp4_double, QuantFormat::int8};

// Rows from any on, whose groups begin in the row before.
TEST(PackedBox, HasWholeRowsOfAnyWidth) {
  for (const QuantFormat format : formats) {
    Whole whole(format, 41, 90);
    for (const std::int64_t first : {0, 1, 7, 32}) {
      const PackedBox box{format, 41, 90, first, 9, 0, 90};
      ASSERT_EQ(problem_of(box), "");
      expect_tile(whole, box, 0, 0, 9, 90);
      expect_tile(whole, box, 2, 33, 5, 41);
    }
  }
}

TEST(PackedBox, HasColumnsOfWholeGroups) {
  for (const QuantFormat format : formats) {
    Whole whole(format, 300, 192);  // more than 256 groups before the last rows
    const PackedBox box{format, 300, 192, 5, 290, 64, 128};
    ASSERT_EQ(problem_of(box), "");
    expect_tile(whole, box, 0, 0, 290, 128);
    expect_tile(whole, box, 280, 60, 10, 50);
  }
  EXPECT_NE(problem_of({QuantFormat::nf4, 8, 176, 0, 8, 88, 88}), "");
  EXPECT_EQ(problem_of({QuantFormat::int8, 8, 176, 0, 8, 88, 88}), "");
}

TEST(PackedBox, TakesTheBitsThatItsFormatHas) {
  const auto bits = [](QuantFormat format) {
    const PackedBox box{format, 1024, 1024, 0, 1024, 0, 1024};
    return 8.0 * static_cast<double>(box.bytes()) / (1024.0 * 1024.0);
  };
  EXPECT_EQ(bits(QuantFormat::nf4), 4.5);
  EXPECT_NEAR(bits(QuantFormat::nf4_double), 4.127, 1e-3);
  EXPECT_NEAR(bits(QuantFormat::int8), 8.031, 1e-3);
}

TEST(PackedBox, FormatsHaveNames) {
  for (const QuantFormat format : formats) EXPECT_EQ(quant_format(name_of(format)), format);
  EXPECT_FALSE(quant_format("nf8"));
}

}  // namespace
}  // namespace triax
