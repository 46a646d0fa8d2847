// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/four_bit.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/rows.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

constexpr std::int64_t task_groups = 256;  // per parallel task
constexpr float least_divisor = 1e-38F;    // bitsandbytes' guard of groups of zeros

float largest_of(const float* x, std::int64_t n) {
  float most = 0.0F;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i]));
  return most;
}

// ranks[0, n) of x / scale. Whole groups multiply by the inverse, a last short one divides, as
// bitsandbytes does.
void rank(std::int32_t* ranks, const float* x, std::int64_t n, float scale, bool whole,
          const float* thresholds) {
  const float inverse = 1.0F / scale;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float near = whole ? x[i] * inverse : x[i] / scale;
    const float within = std::min(std::max(near, -1.0F), 1.0F);
    std::int32_t below = 0;
    for (int t = 0; t < 15; ++t) below += within > thresholds[t] ? 1 : 0;
    ranks[i] = below;
  }
}

void pack(std::uint8_t* bytes, const std::int32_t* ranks, std::int64_t n,
          const std::int32_t* ranked) {
  for (std::int64_t i = 0; i < n; i += 2)
    bytes[i / 2] = static_cast<std::uint8_t>(ranked[ranks[i]] << 4 | ranked[ranks[i + 1]]);
}

// Codes of a group of n elements; returns its scale.
float quantize_group(std::uint8_t* bytes, const float* x, std::int64_t n, std::int64_t group,
                     const FourBitTable& table) {
  constexpr std::int64_t at_once = 64;
  const bool whole = n == group;
  const float most = largest_of(x, n);
  const float divisor = std::max(most, least_divisor);
  for (std::int64_t begin = 0; begin < n; begin += at_once) {
    float part[at_once] = {};  // an odd end is padded with 0
    std::int32_t ranks[at_once];
    const std::int64_t count = std::min(at_once, n - begin);
    std::copy_n(x + begin, count, part);
    rank(ranks, part, at_once, divisor, whole, table.thresholds.data());
    pack(bytes + begin / 2, ranks, count, table.ranked.data());
  }
  return whole ? most : divisor;
}

// to[0, n): from the upper half of the first byte on, in the same group.
void unpack(float* to, const std::uint8_t* bytes, std::int64_t n, float scale,
            const float* levels) {
  const std::int64_t pairs = n / 2;
#pragma omp simd
  for (std::int64_t p = 0; p < pairs; ++p) {
    to[2 * p] = levels[bytes[p] >> 4] * scale;
    to[2 * p + 1] = levels[bytes[p] & 15] * scale;
  }
  if (n % 2 != 0) to[n - 1] = levels[bytes[pairs] >> 4] * scale;
}

// Elements [begin, end) of one group, counted from the first byte of `bytes`.
void unpack_range(float* to, const std::uint8_t* bytes, std::int64_t begin, std::int64_t end,
                  float scale, const float* levels) {
  if (begin % 2 != 0) {
    *to++ = levels[bytes[begin / 2] & 15] * scale;
    ++begin;
  }
  unpack(to, bytes + begin / 2, end - begin, scale, levels);
}

void check_host(const Stream& stream, std::int64_t group) {
  check(stream.space() == MemorySpace::host, "4-bit weights on a device");
  check(group > 0 && group % 2 == 0 && group <= most_group, "groups of {} elements", group);
}

}  // namespace

void quantize_4bit(const Stream& stream, const Tensor& codes, const Tensor& scales,
                   const Tensor& values, FourBit type, std::int64_t group) {
  check_host(stream, group);
  const std::int64_t n = values.elements();
  const float* x = elements_of(values, n, "values");
  std::uint8_t* bytes = elements_of<std::uint8_t>(codes, four_bit_bytes(n), "codes");
  float* scale = elements_of(scales, groups_of(n, group), "scales");
  const FourBitTable& table = four_bit_table(type);
  parallel_for_blocks(
      groups_of(n, group), task_groups, [=, &table](std::int64_t begin, std::int64_t end) {
        for (std::int64_t g = begin; g < end; ++g) {
          const std::int64_t at = g * group;
          scale[g] = quantize_group(bytes + at / 2, x + at, std::min(group, n - at), group, table);
        }
      });
}

void dequantize_4bit(const Stream& stream, const Tensor& out, const Tensor& codes,
                     const Tensor& scales, std::int64_t first, FourBit type, std::int64_t group) {
  check_host(stream, group);
  const std::int64_t n = out.elements();
  check(first >= 0 && four_bit_bytes(first + n) <= codes.elements() &&
            groups_of(first + n, group) <= scales.elements(),
        "{} elements from {} of {} bytes and {} scales", n, first, codes.elements(),
        scales.elements());
  float* to = elements_of(out, n, "out");
  const std::uint8_t* bytes = elements_of<std::uint8_t>(codes, codes.elements(), "codes");
  const float* scale = elements_of(scales, scales.elements(), "scales");
  const float* levels = four_bit_table(type).levels.data();
  if (n == 0) return;
  const std::int64_t before = first / group;
  parallel_for_blocks(groups_of(first + n, group) - before, task_groups,
                      [=](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t g = before + begin; g < before + end; ++g) {
                          const std::int64_t from = std::max(first, g * group);
                          const std::int64_t until = std::min(first + n, (g + 1) * group);
                          unpack_range(to + (from - first), bytes, from, until, scale[g], levels);
                        }
                      });
}

void dequantize_4bit_rows(const Stream& stream, const Tensor& out, const Tensor& codes,
                          const Tensor& scales, std::int64_t first, std::int64_t stride,
                          FourBit type, std::int64_t group) {
  check_host(stream, group);
  const Rows<float> to = rows_of(out, "out");
  if (to.rows == 0) return;
  const std::int64_t end = first + (to.rows - 1) * stride + to.columns;
  check(first >= 0 && four_bit_bytes(end) <= codes.elements() &&
            groups_of(end, group) <= scales.elements(),
        "elements up to {} of {} bytes and {} scales", end, codes.elements(), scales.elements());
  const std::uint8_t* bytes = elements_of<std::uint8_t>(codes, codes.elements(), "codes");
  const float* scale = elements_of(scales, scales.elements(), "scales");
  const float* levels = four_bit_table(type).levels.data();
  parallel_for(to.rows, [=](std::int64_t r) {
    const std::int64_t begin = first + r * stride;
    for (std::int64_t at = begin; at < begin + to.columns;) {
      const std::int64_t until = std::min(begin + to.columns, (at / group + 1) * group);
      unpack_range(to[r] + (at - begin), bytes, at, until, scale[at / group], levels);
      at = until;
    }
  });
}

}  // namespace triax
