// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/packed_box.hpp"

#include <algorithm>
#include <utility>

#include "kernels/quant/four_bit.hpp"
#include "kernels/quant/int8.hpp"
#include "kernels/quant/nested_scales.hpp"

namespace triax {
namespace {

constexpr std::int64_t float_bytes = 4;

std::int64_t whole_floats(std::int64_t bytes) {
  return (bytes + float_bytes - 1) / float_bytes * float_bytes;
}

constexpr std::pair<QuantFormat, std::string_view> names[] = {
    {QuantFormat::nf4, "nf4"},
    {QuantFormat::nf4_double, "nf4-double"},
    {QuantFormat::fp4, "fp4"},
    {QuantFormat::fp4_double, "fp4-double"},
    {QuantFormat::int8, "int8"}};

}  // namespace

std::string_view name_of(QuantFormat format) {
  for (const auto& [known, name] : names)
    if (known == format) return name;
  return "?";
}

std::optional<QuantFormat> quant_format(std::string_view name) {
  for (const auto& [format, known] : names)
    if (known == name) return format;
  return {};
}

std::vector<PackedSegment> segments_of(const PackedBox& box) {
  if (box.whole_rows()) {
    const std::int64_t begin = box.first_output * box.inputs;
    return {{begin - box.skipped(), begin + box.rows * box.columns, 0}};
  }
  std::vector<PackedSegment> all;
  for (std::int64_t r = 0; r < box.rows; ++r) {
    const std::int64_t begin = (box.first_output + r) * box.inputs + box.first_input;
    all.push_back({begin, begin + box.columns, r * box.columns});
  }
  return all;
}

std::int64_t PackedBox::skipped() const {
  return four_bits() && whole_rows() ? first_output * inputs % usual_group : 0;
}

std::int64_t PackedBox::scales() const {
  return four_bits() ? groups_of(skipped() + rows * columns, usual_group) : rows;
}

std::int64_t PackedBox::code_bytes() const {
  return four_bits() ? four_bit_bytes(skipped() + rows * columns) : rows * columns;
}

std::int64_t PackedBox::outer_scales() const {
  return nested() ? groups_of(groups_of(outputs * inputs, usual_group), nested_group) : 0;
}

std::int64_t PackedBox::bytes() const {
  const std::int64_t codes = whole_floats(code_bytes());
  if (!nested()) return scales() * float_bytes + codes;
  return (outer_scales() + 1) * float_bytes + whole_floats(scales()) + codes;
}

std::string problem_of(const PackedBox& box) {
  if (!box.four_bits() || box.whole_rows()) return {};
  if (box.inputs % usual_group == 0 && box.first_input % usual_group == 0 &&
      box.columns % usual_group == 0)
    return {};
  return fmt::format("inputs [{}, {}) of {} are not whole groups of {}", box.first_input,
                     box.first_input + box.columns, box.inputs, usual_group);
}

PackedParts::PackedParts(const PackedBox& box, const Tensor& bytes) {
  check(bytes.contiguous() && bytes.dtype() == DType::u8 && bytes.elements() >= box.bytes(),
        "a packed box of {} bytes in {}", box.bytes(), bytes.elements());
  auto* at = bytes.as<std::uint8_t>();
  const auto take = [&](DType type, std::int64_t count) {
    const Tensor part(static_cast<void*>(at), type, {count});
    at += whole_floats(part.bytes());
    return part;
  };
  if (box.nested()) {
    outer = take(DType::f32, box.outer_scales());
    offset = take(DType::f32, 1).as<float>();
    scale_codes = take(DType::u8, box.scales());
  } else {
    scales = take(DType::f32, box.scales());
  }
  codes = take(DType::u8, box.code_bytes());
}

void unpack_scales(const Stream& stream, const Tensor& scales, const PackedBox& box,
                   const PackedParts& parts) {
  if (box.whole_rows()) {
    const std::int64_t first = box.first_output * box.inputs / usual_group;
    return dequantize_scales(stream, scales, parts.scale_codes, parts.outer, first, *parts.offset);
  }
  const std::int64_t groups = box.columns / usual_group;
  for (std::int64_t r = 0; r < box.rows; ++r) {
    const std::int64_t first =
        ((box.first_output + r) * box.inputs + box.first_input) / usual_group;
    dequantize_scales(stream, scales.slice(0, r * groups, groups),
                      parts.scale_codes.slice(0, r * groups, groups), parts.outer, first,
                      *parts.offset);
  }
}

void decode_tile(const Stream& stream, const Tensor& out, const PackedBox& box,
                 const PackedParts& parts, const Tensor& scales, std::int64_t row,
                 std::int64_t column) {
  const std::int64_t rows = out.size(0), columns = out.size(1);
  check(row >= 0 && row + rows <= box.rows && column >= 0 && column + columns <= box.columns,
        "a tile at ({}, {}) of a box of {} x {}", row, column, box.rows, box.columns);
  if (box.four_bits())
    return dequantize_4bit_rows(stream, out, parts.codes, scales,
                                box.skipped() + row * box.columns + column, box.columns, box.type(),
                                usual_group);
  dequantize_int8(
      stream, out,
      parts.codes.reshape({box.rows, box.columns}).slice(0, row, rows).slice(1, column, columns),
      scales.slice(0, row, rows));
}

}  // namespace triax
