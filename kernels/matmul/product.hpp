// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementations that kernels/matmul/matmul.cpp chooses from: oneDNN's product of the type,
// block by block, and products of 16-bit types widened to float32. No matrix here is empty; shapes,
// types and strides have been checked.
#include "kernels/matmul/matmul.hpp"

namespace triax::gemm {

/// Checks the arguments of matmul: shapes, types, strides and memory space. An internal error if
/// they are wrong.
void check_arguments(const Tensor& c, const Tensor& a, const Tensor& b,
                     const MatmulOptions& options, MemorySpace space);

/// Matrix whose column sums are the gradient of the bias.
inline Tensor bias_gradient_rows(const BiasGradient& gradient, const Tensor& a, const Tensor& b) {
  return gradient.of == BiasGradient::Of::a ? a.transposed() : b;
}

/// c = a b + bias or, with `accumulate`, c += a b + bias.
struct Operands {
  Tensor c, a, b;
  Tensor bias = {};  // empty: none
  bool accumulate = false;
};

/// The product by a oneDNN primitive; it always exists for float32. False, with nothing done, if
/// oneDNN has none for these types on this processor or none that is faster than widening.
bool vendor_product(const Operands& x);
/// True if vendor_product() has a product for matrices of `type`.
bool vendor_multiplies(DType type);

/// Weight gradients (a transposed) with fewer columns than this are read in place by oneDNN's first
/// choice on Intel's processors, instead of packed (better_packed in vendor.cpp).
constexpr std::int64_t narrow_columns = 640;

/// Sizes of the largest tile of a product that goes to oneDNN in one call.
struct BlockSizes {
  std::int64_t m = 0, n = 0, k = 0;
};

/// Tile sizes with which `x` is multiplied fastest. The depth k depends on shapes and types alone,
/// so that the order of the sums does not depend on `threads`, as far as triax decides it.
BlockSizes block_sizes(const Operands& x, std::int64_t threads);

/// The same product as vendor_product, tile by tile: oneDNN is up to a fifth slower on large
/// matrices than on their tiles. Sums over more than one tile of depth are float32 and rounded
/// once; they lie in memory that a thread keeps, at most 2 MiB.
bool blocked_product(const Operands& x);

/// The product of 16-bit matrices without a primitive: tiles of a and b are widened to float32 and
/// multiplied, and each sum is rounded to c once. A thread keeps the memory of the tiles:
/// widened_product_bytes(longest) if no dimension exceeds `longest`.
void widened_product(const Operands& x);
std::int64_t widened_product_bytes(std::int64_t longest);

}  // namespace triax::gemm
