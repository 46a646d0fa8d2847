// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/fp8.hpp"

#include <algorithm>
#include <array>

#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/matmul/fp8.hpp"
#include "kernels/matmul/product.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

constexpr std::int64_t parts = 256;    // sections of a matrix whose maxima are found separately
constexpr std::int64_t block = 16384;  // elements per parallel task

// Largest magnitude, as float32 bits: in that order NaN is above all numbers.
template <class T>
std::uint32_t largest_of(const T* from, std::int64_t count) {
  std::array<std::uint32_t, parts> largest{};
  std::uint32_t* const out = largest.data();
  const std::int64_t part = (count + parts - 1) / parts;
  parallel_for(parts, [=](std::int64_t p) {
    std::uint32_t most = 0;
    const std::int64_t end = std::min(count, (p + 1) * part);
#pragma omp simd reduction(max : most)
    for (std::int64_t i = p * part; i < end; ++i) {
      const float value = from[i];
      most = std::max(most, std::bit_cast<std::uint32_t>(value) & 0x7fffffffU);
    }
    out[p] = most;
  });
  return *std::max_element(largest.begin(), largest.end());
}

template <class T>
void round_all(T* to, const T* from, std::int64_t count, Float8Format format, float scale) {
  const float inverse = 1.0F / scale;
  parallel_for_blocks(count, block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i)
      to[i] = round_to(format, static_cast<float>(from[i]) * scale) * inverse;
  });
}

template <class T>
void encode_all(std::uint8_t* to, const T* from, std::int64_t count, Float8Format format,
                float scale) {
  parallel_for_blocks(count, block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i)
      to[i] = encode(format, static_cast<float>(from[i]) * scale);
  });
}

// to (columns, rows) = codes of the transposed from (rows, columns).
template <class T>
void encode_transposed(std::uint8_t* to, const T* from, const Shape& shape, Float8Format format,
                       float scale) {
  const std::int64_t rows = shape[0];
  const std::int64_t columns = shape[1];
  parallel_for(columns, [=](std::int64_t c) {
    for (std::int64_t r = 0; r < rows; ++r)
      to[c * rows + r] = encode(format, static_cast<float>(from[r * columns + c]) * scale);
  });
}

// Scratch memory of one fp8_matmul: copies of a and b with their scales.
struct Copies {
  cuda::Quantised a, b;
  Copies(Arena& arena, const Shape& a_shape, const Shape& b_shape, DType type)
      : a{arena.take("fp8 left", type, a_shape), arena.take("fp8 scales", DType::f32, {2})},
        b{arena.take("fp8 right", type, b_shape), arena.take("fp8 scales", DType::f32, {2})} {}
};

// Quantised copy of `matrix`, with its layout. `matrix` must be contiguous or the transposed view
// of a contiguous one.
Tensor quantised(const Stream& stream, const cuda::Quantised& copy, const Tensor& matrix,
                 Float8 format) {
  if (!matrix.contiguous()) {
    check(matrix.transposed().contiguous(), "fp8 of columns of a wider matrix");
    return quantised(stream, copy, matrix.transposed(), format).transposed();
  }
  const Tensor to = copy.memory.reshape(matrix.shape());
  fp8_quantise(stream, to, copy.scales, matrix, format);
  return to;
}

// The product by 8-bit codes, without the bias gradient. False if the device has no such product.
bool multiply_codes(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                    const Float8Operands& formats, const MatmulOptions& options,
                    const Copies& copies) {
  if (!on_device(stream)) return false;
  const Tensor& input = options.gelu_input;
  if (!cuda::fp8_multiply(stream, input.empty() ? c : input, a, b, formats, options, copies.a,
                          copies.b))
    return false;
  if (!input.empty()) gelu_forward(stream, c, input);
  const GeluGradient& gelu = options.gelu_gradient;
  if (!gelu.input.empty()) gelu_backward(stream, c, gelu.output, c, gelu.input);
  return true;
}

void multiply(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
              const Float8Operands& formats, const MatmulOptions& options, Arena& scratch) {
  const ArenaScope scope(scratch);
  const Copies copies(scratch, a.shape(), b.shape(), a.dtype());
  if (multiply_codes(stream, c, a, b, formats, options, copies)) return;
  MatmulOptions product = options;
  product.bias_gradient = {};
  matmul(stream, c, quantised(stream, copies.a, a, formats.a),
         quantised(stream, copies.b, b, formats.b), product);
}

}  // namespace

void fp8_quantise(const Stream& stream, const Tensor& to, const Tensor& scales, const Tensor& from,
                  Float8 format) {
  if (on_device(stream)) return cuda::fp8_quantise(stream, to, scales, from, format);
  check(to.shape() == from.shape() && from.dtype() != DType::f16, "fp8 of {} {} into {}",
        name_of(from.dtype()), from.shape(), to.shape());
  const std::int64_t count = from.elements();
  auto* factors = elements_of<float>(scales, 2, "scales");
  with_type(from.dtype(), [&]<class T>(Type<T>) {
    const T* in = elements_of<T>(from, count, "from");
    const Float8Format how = format_of(format);
    const float scale = scale_for(how, largest_of(in, count));
    factors[0] = 1.0F / scale;
    factors[1] = scale;
    if (to.dtype() != DType::u8)
      round_all(elements_of<T>(to, count, "to"), in, count, how, scale);
    else if (to.contiguous())
      encode_all(to.as<std::uint8_t>(), in, count, how, scale);
    else
      encode_transposed(elements_of<std::uint8_t>(to.transposed(), count, "to"), in, from.shape(),
                        how, scale);
  });
}

void fp8_matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                const Float8Operands& formats, const MatmulOptions& options, Arena& scratch) {
  gemm::check_arguments(c, a, b, options, stream.space());
  multiply(stream, c, a, b, formats, options, scratch);
  const BiasGradient& bias = options.bias_gradient;
  if (!bias.sums.empty())
    bias_backward(stream, bias.sums, gemm::bias_gradient_rows(bias, a, b), bias.accumulate,
                  *bias.scratch);
}

std::size_t fp8_matmul_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k, DType type) {
  Arena arena;
  Copies(arena, {m, k}, {k, n}, type);
  return arena.high_water();
}

}  // namespace triax
