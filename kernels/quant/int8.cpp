// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/int8.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/rows.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

constexpr float of_127 = 7.874015718698502e-3F;  // bitsandbytes' 1 / 127

float largest_half(const float* x, std::int64_t n) {
  float most = 0.0F;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < n; ++i)
    most = std::max(most, std::abs(static_cast<float>(F16(x[i]))));
  return most;
}

void quantize_row(std::uint8_t* codes, const float* x, std::int64_t n, float most) {
  // PyTorch divides by a tensor so: with two roundings.
  const float factor = most > 0.0F ? 1.0F / most * 127.0F : 0.0F;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    codes[i] = static_cast<std::uint8_t>(
        static_cast<std::int32_t>(std::nearbyint(static_cast<float>(F16(x[i])) * factor)));
}

}  // namespace

void quantize_int8(const Stream& stream, const Tensor& codes, const Tensor& scales,
                   const Tensor& values) {
  check(stream.space() == MemorySpace::host, "8-bit weights on a device");
  const Rows<float> x = rows_of(values, "values");
  const Rows<std::uint8_t> out = rows_of<std::uint8_t>(codes, "codes");
  check(out.rows == x.rows && out.columns == x.columns, "codes of another shape than the values");
  float* scale = elements_of(scales, x.rows, "scales");
  parallel_for(x.rows, [=](std::int64_t r) {
    scale[r] = largest_half(x[r], x.columns);
    quantize_row(out[r], x[r], x.columns, scale[r]);
  });
}

void dequantize_int8(const Stream& stream, const Tensor& out, const Tensor& codes,
                     const Tensor& scales) {
  check(stream.space() == MemorySpace::host, "8-bit weights on a device");
  const Rows<float> to = rows_of(out, "out");
  const Rows<std::uint8_t> from = rows_of<std::uint8_t>(codes, "codes");
  check(from.rows == to.rows && from.columns == to.columns, "codes of another shape than out");
  const float* scale = elements_of(scales, to.rows, "scales");
  parallel_for(to.rows, [=](std::int64_t r) {
    const std::uint8_t* code = from[r];
    float* row = to[r];
#pragma omp simd
    for (std::int64_t c = 0; c < to.columns; ++c)
      row[c] = static_cast<float>(static_cast<std::int8_t>(code[c])) * scale[r] * of_127;
  });
}

}  // namespace triax
