// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/isa/isa.hpp"
#include "kernels/isa/processor.hpp"
#include "kernels/matmul/product.hpp"
#include "kernels/matmul/wide.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax::gemm {
namespace {

// Measured on Zen 4 and oneDNN 2.6 at the shapes of GPT-2, within training steps: with operands
// that come from memory, products of a row-major `a` (forward, input gradients) gain nothing from
// blocks of rows or columns on AVX-512.
constexpr std::int64_t most_depth = 8192;
constexpr std::int64_t most_columns = 1024;
// Weight gradients on Intel's processors, where oneDNN packs operands of wide products only: 170
// GFLOP/s at 768x1024x3072, and 133 in tiles of 1024 columns. Narrow ones are not cut into tiles of
// rows, which oneDNN's first choice does not take: 1536x2048x384 at 193 instead of 152 GFLOP/s.
constexpr std::int64_t most_columns_intel = 4096;
constexpr std::int64_t rows_of_sums = 512;
constexpr std::int64_t most_rows = 4096;
constexpr std::int64_t most_elements = std::int64_t{3} << 19;  // of a block of a
// On AVX2 oneDNN packs nothing where 1 / rows + 1 / columns >= 0.0038. It then reads a transposed
// `b` again for every 96 rows and every 256 of depth: 384 columns stay in the second-level cache
// meanwhile. Threads would wait for each other at each block, which is not measured on a quiet
// machine: one thread only. A single row is a product with a vector and gains nothing.
constexpr std::int64_t most_rows_unpacked = 263;
constexpr std::int64_t most_columns_unpacked = 384;

bool transposed(const Tensor& matrix) {
  return matrix.size(1) > 1 && matrix.stride(1) != 1;
}

bool reads_transposed_unpacked([[maybe_unused]] const Operands& x) {
#ifdef __x86_64__
  const std::int64_t rows = x.c.size(0);
  return isa_in_use() == Isa::avx2 && x.a.dtype() == DType::f32 && !transposed(x.a) &&
         transposed(x.b) && rows > 1 && rows <= most_rows_unpacked;
#else
  return false;
#endif
}

// Equal blocks of at most `most`, but for the last one; whole vectors and cache lines.
std::int64_t equal_blocks(std::int64_t size, std::int64_t most) {
  constexpr std::int64_t step = 64;
  const std::int64_t blocks = (size + most - 1) / most;
  if (blocks <= 1) return size;
  return ((size + blocks - 1) / blocks + step - 1) / step * step;
}

}  // namespace

BlockSizes block_sizes(const Operands& x, std::int64_t threads) {
  BlockSizes block{x.c.size(0), x.c.size(1), equal_blocks(x.a.size(1), most_depth)};
  if (block.k < x.a.size(1) && x.c.dtype() != DType::f32) {  // sums lie apart
    block.m = equal_blocks(block.m, rows_of_sums);
    block.n = equal_blocks(block.n, most_columns);
  } else if (transposed(x.a)) {  // weight gradients
    const bool intel = detail::processor_is_intel(), narrow = block.n < narrow_columns;
    const std::int64_t rows = std::clamp(most_elements / block.k, rows_of_sums, most_rows);
    const bool whole = intel && narrow && x.a.dtype() == DType::f32;
    if (!whole) block.m = equal_blocks(block.m, threads * rows);
    block.n = equal_blocks(block.n, threads * (intel ? most_columns_intel : most_columns));
  } else if (threads == 1 && reads_transposed_unpacked(x)) {
    block.n = equal_blocks(block.n, most_columns_unpacked);
  }
  return block;
}

namespace {

// A tile of c over the whole depth, in float32. False, with nothing done, if oneDNN has no product.
bool add_depth_blocks(const Operands& x, std::int64_t block_depth) {
  for (std::int64_t k = 0; k < x.a.size(1); k += block_depth) {
    const std::int64_t depth = std::min(block_depth, x.a.size(1) - k);
    const bool done = vendor_product({.c = x.c,
                                      .a = x.a.slice(1, k, depth),
                                      .b = x.b.slice(0, k, depth),
                                      .bias = k == 0 ? x.bias : Tensor(),
                                      .accumulate = x.accumulate || k > 0});
    if (!done && k == 0) return false;
    check(done, "oneDNN has a product of depth {} and none of {}", block_depth, depth);
  }
  return true;
}

bool block_product(const Operands& x, std::int64_t depth) {
  if (depth >= x.a.size(1)) return vendor_product(x);
  if (x.c.dtype() == DType::f32) return add_depth_blocks(x, depth);
  thread_local Buffer memory;
  Operands wide = x;
  wide.c = matrix_in(memory, x.c.size(0), x.c.size(1));
  if (x.accumulate) widen(wide.c, x.c);
  if (!add_depth_blocks(wide, depth)) return false;
  narrow(x.c, wide.c);
  return true;
}

}  // namespace

bool blocked_product(const Operands& x) {
  const BlockSizes block = block_sizes(x, host_concurrency());
  for (std::int64_t n = 0; n < x.c.size(1); n += block.n)
    for (std::int64_t m = 0; m < x.c.size(0); m += block.m) {
      const std::int64_t columns = std::min(block.n, x.c.size(1) - n);
      const std::int64_t rows = std::min(block.m, x.c.size(0) - m);
      const bool done =
          block_product({.c = x.c.slice(0, m, rows).slice(1, n, columns),
                         .a = x.a.slice(0, m, rows),
                         .b = x.b.slice(1, n, columns),
                         .bias = x.bias.empty() ? x.bias : x.bias.slice(0, n, columns),
                         .accumulate = x.accumulate},
                        block.k);
      if (!done && m == 0 && n == 0) return false;
      check(done, "oneDNN has a product of {} and none of a block of it", x.c.shape());
    }
  return true;
}

}  // namespace triax::gemm
