// SPDX-License-Identifier: Apache-2.0
#pragma once
// A box of a quantized matrix as one piece of bytes, from which products decode tiles: what a rank
// keeps of a frozen linear map.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/device/device.hpp"
#include "kernels/quant/levels.hpp"

namespace triax {

enum class QuantFormat : std::uint8_t { nf4, nf4_double, fp4, fp4_double, int8 };

/// "nf4", "nf4-double", "fp4", "fp4-double", "int8".
std::string_view name_of(QuantFormat format);
/// The format of that name; nothing: there is none.
std::optional<QuantFormat> quant_format(std::string_view name);

/// Rows (outputs) and columns (inputs) of a matrix that bitsandbytes flattens row by row. Whole
/// rows may begin anywhere; a box of columns in 4 bits begins and ends with a group.
///
/// The bytes, each part from a multiple of 4 on. 4 bits: scales, codes. Double quantization: outer
/// scales of the whole matrix, the offset, codes of scales, codes. 8 bits: scales of rows, codes.
struct PackedBox {
  QuantFormat format = QuantFormat::nf4;
  std::int64_t outputs = 0, inputs = 0;  // of the whole matrix
  std::int64_t first_output = 0, rows = 0;
  std::int64_t first_input = 0, columns = 0;

  bool four_bits() const { return format != QuantFormat::int8; }
  bool nested() const {
    return format == QuantFormat::nf4_double || format == QuantFormat::fp4_double;
  }
  FourBit type() const {
    return format == QuantFormat::nf4 || format == QuantFormat::nf4_double ? FourBit::nf4
                                                                           : FourBit::fp4;
  }
  bool whole_rows() const { return columns == inputs; }
  /// Elements before the box's first one in its first group.
  std::int64_t skipped() const;
  std::int64_t scales() const;  // number of them: of groups, or of rows
  std::int64_t code_bytes() const;
  std::int64_t outer_scales() const;
  std::int64_t bytes() const;
  bool operator==(const PackedBox&) const = default;
};

/// The reason why the box cannot be kept; empty: it can.
std::string problem_of(const PackedBox& box);

/// A contiguous range of the flat matrix that a box of 4 bits has, from the beginning of a group
/// on.
struct PackedSegment {
  std::int64_t begin, end;  // elements of the matrix
  std::int64_t at;          // the first one's number among the box's elements and those before it
};
std::vector<PackedSegment> segments_of(const PackedBox& box);

/// Views of a box's bytes. Those that its format lacks are empty.
struct PackedParts {
  PackedParts(const PackedBox& box, const Tensor& bytes);
  Tensor outer;  // f32
  float* offset = nullptr;
  Tensor scales;       // f32
  Tensor scale_codes;  // u8
  Tensor codes;        // u8
};

/// scales = those of the box, (box.scales()) float32. On the host.
void unpack_scales(const Stream& stream, const Tensor& scales, const PackedBox& box,
                   const PackedParts& parts);

/// out = the tile of the box from (row, column) on. out: (R, C) float32; scales: unpack_scales(),
/// or the box's own. Decoded as bitsandbytes does, in float32. On the host.
void decode_tile(const Stream& stream, const Tensor& out, const PackedBox& box,
                 const PackedParts& parts, const Tensor& scales, std::int64_t row,
                 std::int64_t column);

}  // namespace triax
