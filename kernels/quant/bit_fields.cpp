// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/bit_fields.hpp"

#include <algorithm>

#include "kernels/base/rows.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

// The field that begins at bit `at` of words `low` and `high`, its successor.
std::uint32_t field_at(std::uint32_t low, std::uint32_t high, unsigned at, std::uint32_t mask) {
  const std::uint64_t both = std::uint64_t{high} << 32U | low;
  return static_cast<std::uint32_t>(both >> at) & mask;
}

std::uint32_t mask_of(int bits) {
  check(bits == 2 || bits == 3 || bits == 4 || bits == 8, "fields of {} bits", bits);
  return (1U << static_cast<unsigned>(bits)) - 1U;
}

// Number in a row of the word's field that is column `column`, in AWQ's order.
std::int64_t awq_field(std::int64_t column) {
  const std::int64_t k = column % 8;
  return column - k + (k % 2 == 0 ? k / 2 : 4 + k / 2);
}

}  // namespace

void unpack_fields_down(const Stream& stream, const Tensor& out, const Tensor& words, int bits) {
  check(stream.space() == MemorySpace::host, "packed weights on a device");
  const std::uint32_t mask = mask_of(bits);
  const Rows<float> to = rows_of(out, "out");
  const Rows<std::int32_t> from = rows_of<std::int32_t>(words, "words");
  check(from.rows >= field_words(to.rows, bits) && from.columns == to.columns,
        "{} x {} fields in words {}", to.rows, to.columns, words.shape());
  parallel_for(to.rows, [=](std::int64_t r) {
    const std::int64_t bit = r * bits;
    const auto at = static_cast<unsigned>(bit % 32);
    const std::int32_t* low = from[bit / 32];
    const std::int32_t* high = from[std::min(bit / 32 + 1, from.rows - 1)];
    float* row = to[r];
#pragma omp simd
    for (std::int64_t c = 0; c < to.columns; ++c)
      row[c] = static_cast<float>(static_cast<std::int32_t>(field_at(
          static_cast<std::uint32_t>(low[c]), static_cast<std::uint32_t>(high[c]), at, mask)));
  });
}

void unpack_fields_across(const Stream& stream, const Tensor& out, const Tensor& words, int bits,
                          std::int64_t first, FieldOrder order, int added) {
  check(stream.space() == MemorySpace::host, "packed weights on a device");
  const std::uint32_t mask = mask_of(bits);
  const Rows<float> to = rows_of(out, "out");
  const Rows<std::int32_t> from = rows_of<std::int32_t>(words, "words");
  check(order == FieldOrder::natural || bits == 4, "AWQ's order of fields of {} bits", bits);
  const std::int64_t last = first + to.columns;
  check(from.rows == to.rows && first >= 0 &&
            field_words(order == FieldOrder::awq ? (last + 7) / 8 * 8 : last, bits) <= from.columns,
        "fields up to {} of {} rows in words {}", last, to.rows, words.shape());
  parallel_for(to.rows, [=](std::int64_t r) {
    const std::int32_t* row = from[r];
    for (std::int64_t c = 0; c < to.columns; ++c) {
      const std::int64_t field = order == FieldOrder::awq ? awq_field(first + c) : first + c;
      const std::int64_t word = field * bits / 32;
      const std::uint32_t value =
          field_at(static_cast<std::uint32_t>(row[word]),
                   static_cast<std::uint32_t>(row[std::min(word + 1, from.columns - 1)]),
                   static_cast<unsigned>(field * bits % 32), mask);
      to[r][c] = static_cast<float>((value + static_cast<std::uint32_t>(added)) & mask);
    }
  });
}

}  // namespace triax
