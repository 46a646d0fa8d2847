#pragma once
// Matrix products as the BLAS of a device is asked for them. It knows matrices by columns, and a
// matrix by rows is its transpose by columns: c = a b is asked for as c^T = b^T a^T.
#include <cstddef>
#include <string>

#include "kernels/cuda/stream.hpp"
#include "kernels/matmul.hpp"

namespace triax::cuda {

/// An operand by columns: element (i, j) lies at i + j * stride, or at j + i * stride where it is
/// transposed.
struct BlasOperand {
  bool transposed = false;
  std::int64_t stride = 0;
  int alignment = 0;  // bytes
  bool operator==(const BlasOperand&) const = default;
};

/// d = left right, of float32 sums rounded once; d += left right with `accumulate`. left:
/// (rows, depth), right: (depth, columns), d: (rows, columns), which is never transposed. With
/// `bias`, a number for each row is added, of d's type.
struct BlasProduct {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  BlasOperand left, right, d;
  DType type = DType::f32;    // of left and right
  DType d_type = DType::f32;  // the same, or float32
  bool accumulate = false;
  bool bias = false;
  bool operator==(const BlasProduct&) const = default;
  std::string text() const;  // "(2, 3) of bf16 by (3, 4) into f32": in our order, for errors
};

/// Alignments tell no more than this: all that is as aligned gets the same kernel and so the same
/// order of sums, wherever in memory it lies.
inline constexpr int blas_alignment = 16;

/// c = a b or c += a b, none of them empty. Left is b, right is a.
BlasProduct blas_product(const Tensor& c, const Tensor& a, const Tensor& b, bool accumulate,
                         bool bias);

/// How a product is made of calls of the BLAS and of the kernel of matmul.cu, which adds up what
/// the former cannot.
struct ProductSteps {
  enum class Multiply { no, into_c, into_sums } multiply = Multiply::into_c;
  bool bias_in_product = false;  // the BLAS adds biases of c's type alone
  bool finish = false;           // sums, c and bias are added up, and rounded once
  bool operator==(const ProductSteps&) const = default;
};
ProductSteps product_steps(const Tensor& c, std::int64_t depth, const MatmulOptions& options);

/// Float32 memory for `into_sums`, a stream's own from its first such product on; rows of c that it
/// takes at a time.
inline constexpr std::size_t product_sums_bytes = std::size_t{16} << 20;
std::int64_t product_sums_rows(std::int64_t columns);

/// The call itself. cuBLASLt's handle, workspace (blas_workspace_bytes of device memory) and the
/// algorithm of each product are kept by the stream from their first use on. An Error names the
/// product and the library's status.
void blas_multiply(const Stream& stream, const BlasProduct& product, void* d, const void* left,
                   const void* right, const void* bias);
inline constexpr std::size_t blas_workspace_bytes = std::size_t{32} << 20;

}  // namespace triax::cuda
