#include <algorithm>

#include "kernels/base/device.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/matmul/product.hpp"

namespace triax::gemm {
namespace {

// Rows and columns of a block of c, and depth of the blocks of a and b: deep enough that widening
// costs little beside the product, and small enough that a thread keeps 36 MiB at most.
constexpr std::int64_t block_size = 1024;
constexpr std::int64_t block_depth = 4096;

template <class To, class From>
void convert_rows(const Tensor& to, const Tensor& from) {
  To* const out = to.as<To>();
  const From* const in = from.as<From>();
  const std::int64_t columns = to.size(1);
  const std::int64_t out_stride = to.stride(0);
  const std::int64_t in_stride = from.stride(0);
  parallel_for(to.size(0), [=](std::int64_t row) {
    To* const out_row = out + row * out_stride;
    const From* const in_row = in + row * in_stride;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) out_row[i] = static_cast<float>(in_row[i]);
  });
}

// to = from, which is narrower; both have unit column stride.
void widen(const Tensor& to, const Tensor& from) {
  with_type(from.dtype(), [&]<class T>(Type<T>) { convert_rows<float, T>(to, from); });
}
void narrow(const Tensor& to, const Tensor& from) {
  with_type(to.dtype(), [&]<class T>(Type<T>) { convert_rows<T, float>(to, from); });
}

// A matrix of float32 in memory that grows to the largest asked for.
Tensor matrix_in(Buffer& memory, std::int64_t rows, std::int64_t columns) {
  const auto bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
  if (memory.bytes() < bytes) memory = Buffer(bytes);
  return memory.tensor(DType::f32, {rows, columns});
}

// `matrix` in float32, transposed in memory where it was.
Tensor widened(Buffer& memory, const Tensor& matrix) {
  if (matrix.size(1) > 1 && matrix.stride(1) != 1)
    return widened(memory, matrix.transposed()).transposed();
  const Tensor wide = matrix_in(memory, matrix.size(0), matrix.size(1));
  widen(wide, matrix);
  return wide;
}

// Memory of the blocks.
struct Blocks {
  Buffer a, b, c, bias;
};

// The product for a block of c, all in float32 but a and b.
void add_depth_blocks(Blocks& blocks, const Operands& x) {
  for (std::int64_t k = 0; k < x.a.size(1); k += block_depth) {
    const std::int64_t depth = std::min(block_depth, x.a.size(1) - k);
    vendor_product({.c = x.c,
                    .a = widened(blocks.a, x.a.slice(1, k, depth)),
                    .b = widened(blocks.b, x.b.slice(0, k, depth)),
                    .bias = k == 0 ? x.bias : Tensor(),
                    .accumulate = x.accumulate || k > 0});
  }
}

void block_product(Blocks& blocks, Operands x) {
  const std::int64_t columns = x.c.size(1);
  if (!x.bias.empty() && x.bias.dtype() != DType::f32)
    x.bias = widened(blocks.bias, x.bias.reshape({1, columns})).flat();
  if (x.c.dtype() == DType::f32) return add_depth_blocks(blocks, x);
  const Tensor rounded = x.c;
  x.c = matrix_in(blocks.c, rounded.size(0), columns);
  if (x.accumulate) widen(x.c, rounded);
  add_depth_blocks(blocks, x);
  narrow(rounded, x.c);
}

}  // namespace

void widened_product(const Operands& x) {
  thread_local Blocks blocks;
  for (std::int64_t n = 0; n < x.c.size(1); n += block_size)
    for (std::int64_t m = 0; m < x.c.size(0); m += block_size) {
      const std::int64_t columns = std::min(block_size, x.c.size(1) - n);
      const std::int64_t rows = std::min(block_size, x.c.size(0) - m);
      block_product(blocks, {.c = x.c.slice(0, m, rows).slice(1, n, columns),
                             .a = x.a.slice(0, m, rows),
                             .b = x.b.slice(1, n, columns),
                             .bias = x.bias.empty() ? Tensor() : x.bias.slice(0, n, columns),
                             .accumulate = x.accumulate});
    }
}

}  // namespace triax::gemm
