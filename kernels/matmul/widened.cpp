// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/matmul/product.hpp"
#include "kernels/matmul/wide.hpp"

namespace triax::gemm {
namespace {

// Rows and columns of a tile of c, and depth of the tiles of a and b. Deep enough that widening
// costs little beside the product; small enough that a thread keeps at most 36 MiB.
constexpr std::int64_t block_size = 1024;
constexpr std::int64_t block_depth = 4096;

// `matrix` in float32; a transposed matrix stays transposed in memory.
Tensor widened(Buffer& memory, const Tensor& matrix) {
  if (matrix.size(1) > 1 && matrix.stride(1) != 1)
    return widened(memory, matrix.transposed()).transposed();
  const Tensor wide = matrix_in(memory, matrix.size(0), matrix.size(1));
  widen(wide, matrix);
  return wide;
}

// Memory of one tile of each matrix.
struct Blocks {
  Buffer a, b, c, bias;
};

// The product for one tile of c. All types are float32, except those of a and b.
void add_depth_blocks(Blocks& blocks, const Operands& x) {
  for (std::int64_t k = 0; k < x.a.size(1); k += block_depth) {
    const std::int64_t depth = std::min(block_depth, x.a.size(1) - k);
    const bool done = vendor_product({.c = x.c,
                                      .a = widened(blocks.a, x.a.slice(1, k, depth)),
                                      .b = widened(blocks.b, x.b.slice(0, k, depth)),
                                      .bias = k == 0 ? x.bias : Tensor(),
                                      .accumulate = x.accumulate || k > 0});
    check(done, "oneDNN has no product of float32");
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

std::int64_t widened_product_bytes(std::int64_t longest) {
  const std::int64_t side = std::min(block_size, longest), depth = std::min(block_depth, longest);
  return side * (2 * depth + side) * std::int64_t{sizeof(float)};
}

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
