#pragma once
// The two ways to a matrix product that kernels/matmul/matmul.hpp chooses from. No matrix here is
// empty, and shapes, types and strides have been checked.
#include "kernels/matmul/matmul.hpp"

namespace triax::gemm {

/// Checks the arguments of matmul: shapes, types, strides and where they lie.
void check_arguments(const Tensor& c, const Tensor& a, const Tensor& b,
                     const MatmulOptions& options, MemorySpace space);

/// The matrix whose columns are summed for the gradient of a bias.
inline Tensor bias_gradient_rows(const BiasGradient& gradient, const Tensor& a, const Tensor& b) {
  return gradient.of == BiasGradient::Of::a ? a.transposed() : b;
}

/// c = a b + bias or, with `accumulate`, c += a b + bias.
struct Operands {
  Tensor c, a, b;
  Tensor bias = {};  // empty: none
  bool accumulate = false;
};

/// The product by a primitive of oneDNN. False, with nothing done, where oneDNN has none for these
/// types on this processor, or none that pays; it always has one for float32.
bool vendor_product(const Operands& x);
/// Whether it has one for matrices of `type`.
bool vendor_multiplies(DType type);

/// Weight gradients (a transposed) with fewer columns are taken as they lie by oneDNN's first
/// choice on Intel's processors, not packed: see better_packed.
constexpr std::int64_t narrow_columns = 640;

/// The largest block of a product that goes to oneDNN in one piece.
struct BlockSizes {
  std::int64_t m = 0, n = 0, k = 0;
};

/// The blocks in which `x` is multiplied fastest. The depth k follows from shapes and types alone:
/// as far as it is ours to say, the order of the sums does not depend on `threads`.
BlockSizes block_sizes(const Operands& x, std::int64_t threads);

/// The same product as vendor_product, in blocks: oneDNN takes long matrices up to a fifth slower
/// than their parts. Sums over more than one block of depth are float32 and rounded once; they lie
/// in memory that a thread keeps, 2 MiB at most.
bool blocked_product(const Operands& x);

/// The product of 16-bit matrices where there is no primitive: block by block a and b are widened
/// to float32 and multiplied, and the sum is rounded to c once. The blocks lie in memory that a
/// thread keeps: so many bytes where no matrix is longer than `longest`.
void widened_product(const Operands& x);
std::int64_t widened_product_bytes(std::int64_t longest);

}  // namespace triax::gemm
