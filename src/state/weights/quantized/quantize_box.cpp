// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/quantize_box.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/quant/four_bit.hpp"
#include "kernels/quant/int8.hpp"
#include "kernels/quant/nested_scales.hpp"

namespace triax {
namespace {

template <class T>
Tensor view(std::vector<T>& values) {
  return {values.data(), {std::ssize(values)}};
}

// Copies a segment's part of the codes of elements [begin, end), both at the beginning of a
// group.
void copy_codes(const PackedParts& parts, const PackedSegment& segment, std::int64_t begin,
                std::int64_t end, const std::uint8_t* codes) {
  const std::int64_t from = std::max(begin, segment.begin), until = std::min(end, segment.end);
  if (from >= until) return;
  std::memcpy(parts.codes.as<std::uint8_t>() + (segment.at + from - segment.begin) / 2,
              codes + (from - begin) / 2, static_cast<std::size_t>(four_bit_bytes(until - from)));
}

// The same for scales, or codes of scales.
template <class T>
void copy_scales(T* to, const PackedSegment& segment, std::int64_t begin, std::int64_t end,
                 const T* scales) {
  const std::int64_t from = std::max(begin, segment.begin), until = std::min(end, segment.end);
  if (from >= until) return;
  std::copy_n(scales + (from - begin) / usual_group, groups_of(until - from, usual_group),
              to + (segment.at + from - segment.begin) / usual_group);
}

void quantize_in_4(const PackedBox& box, const PackedParts& parts, FlatMatrix& matrix) {
  const std::vector<PackedSegment> segments = segments_of(box);
  const std::int64_t total = matrix.elements();
  const std::int64_t first = box.nested() ? 0 : segments.front().begin;
  const std::int64_t last =
      box.nested() ? total
                   : std::min(total, groups_of(segments.back().end, usual_group) * usual_group);
  std::vector<std::uint8_t> codes;
  std::vector<float> scales(static_cast<std::size_t>(groups_of(last - first, usual_group)));
  for (std::int64_t begin = first; begin < last; begin += quantized_at_once) {
    const std::int64_t end = std::min(last, begin + quantized_at_once);
    codes.resize(static_cast<std::size_t>(four_bit_bytes(end - begin)));
    quantize_4bit(
        Stream{}, view(codes),
        view(scales).slice(0, (begin - first) / usual_group, groups_of(end - begin, usual_group)),
        matrix.piece(begin, end - begin), box.type(), usual_group);
    for (const PackedSegment& segment : segments)
      copy_codes(parts, segment, begin, end, codes.data());
  }
  if (!box.nested()) {
    for (const PackedSegment& segment : segments)
      copy_scales(parts.scales.as<float>(), segment, first, last, scales.data());
    return;
  }
  codes.resize(scales.size());
  *parts.offset = quantize_scales(Stream{}, view(codes), parts.outer, view(scales));
  for (const PackedSegment& segment : segments)
    copy_scales(parts.scale_codes.as<std::uint8_t>(), segment, first, last, codes.data());
}

void quantize_in_8(const PackedBox& box, const PackedParts& parts, FlatMatrix& matrix) {
  const std::int64_t most = std::max<std::int64_t>(1, quantized_at_once / box.inputs);
  std::vector<std::uint8_t> codes;
  for (std::int64_t row = 0; row < box.rows; row += most) {
    const std::int64_t count = std::min(most, box.rows - row);
    codes.resize(static_cast<std::size_t>(count * box.inputs));
    quantize_int8(Stream{}, view(codes).reshape({count, box.inputs}),
                  parts.scales.slice(0, row, count),
                  matrix.piece((box.first_output + row) * box.inputs, count * box.inputs)
                      .reshape({count, box.inputs}));
    for (std::int64_t r = 0; r < count; ++r)
      std::copy_n(codes.data() + r * box.inputs + box.first_input, box.columns,
                  parts.codes.as<std::uint8_t>() + (row + r) * box.columns);
  }
  const float* scales = parts.scales.as<float>();
  if (!std::all_of(scales, scales + box.rows, [](float x) { return std::isfinite(x); }))
    throw Error(fmt::format("{} has a value that int8 cannot scale", matrix.name()),
                "its largest is beyond half precision's 65504", "Set model.quantize to nf4");
}

}  // namespace

void quantize_box(const PackedBox& box, const PackedParts& parts, FlatMatrix& matrix) {
  box.four_bits() ? quantize_in_4(box, parts, matrix) : quantize_in_8(box, parts, matrix);
}

}  // namespace triax
