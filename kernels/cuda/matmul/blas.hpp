#pragma once
// Matrix products as the BLAS of a device is asked for them. It knows matrices by columns, and a
// matrix by rows is its transpose by columns: c = a b is asked for as c^T = b^T a^T.
#include <cstddef>
#include <optional>
#include <string>

#include "kernels/base/float8.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "kernels/matmul/matmul.hpp"

namespace triax::cuda {

/// An operand by columns: element (i, j) lies at i + j * stride, or at j + i * stride where it is
/// transposed.
struct BlasOperand {
  bool transposed = false;
  std::int64_t stride = 0;
  int alignment = 0;              // bytes
  std::optional<Float8> codes{};  // where it is of bytes
  bool operator==(const BlasOperand&) const = default;
};

/// What the BLAS does beside a product. `bias`: a number for each row of d. The gradient of a bias
/// is a kernel of ours: cuBLASLt's epilogues for it (BGRADA, BGRADB) slow a product on an H100 by
/// more than the kernel takes (benchmarks/results/gpu/2026-11-27-h100.md).
enum class BlasEpilogue : std::uint8_t {
  none,
  bias,
  gelu,          // aux = product, d = gelu(aux)
  gelu_bias,     // the same of product and bias
  gelu_gradient  // d = product gelu'(aux)
};

/// d = left right, of float32 sums; d += left right with `accumulate`. cuBLASLt may round the sums
/// to d's type before it adds d or a bias, and then once more. left:
/// (rows, depth), right: (depth, columns), d: (rows, columns), which is never transposed. A bias
/// is of d's type.
struct BlasProduct {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  BlasOperand left, right, d;
  DType type = DType::f32;    // of left and right; u8: codes, each matrix with its scale
  DType d_type = DType::f32;  // the same, or float32
  bool accumulate = false;
  BlasEpilogue epilogue = BlasEpilogue::none;
  int bias_alignment = 0;       // bytes
  std::int64_t aux_stride = 0;  // by columns, as d; of d's type
  bool operator==(const BlasProduct&) const = default;
  std::string text() const;  // "(2, 3) of bf16 by (3, 4) into f32": in our order, for errors
};

/// Where the matrices of a product lie. `bias` and `aux` are read or written, as its epilogue says.
struct BlasMemory {
  void* d = nullptr;
  const void* left = nullptr;
  const void* right = nullptr;
  void* bias = nullptr;
  void* aux = nullptr;
  const float* left_scale =
      nullptr;  // of codes: what a number of theirs stands for is it times this
  const float* right_scale = nullptr;
};

/// Alignments tell no more than this: all that is as aligned gets the same kernel and so the same
/// order of sums, wherever in memory it lies.
inline constexpr int blas_alignment = 16;

/// An epilogue with the matrices that it is of, as matmul was given them.
struct EpilogueOperands {
  BlasEpilogue epilogue = BlasEpilogue::none;
  Tensor bias = {};
  Tensor aux = {};  // GELU's input
};

/// c = a b or c += a b, none of them empty. Left is b, right is a.
BlasProduct blas_product(const Tensor& c, const Tensor& a, const Tensor& b, bool accumulate,
                         const EpilogueOperands& with = {});

/// Codes for c = a b or c += a b: those of a as (M, K) and of b as (N, K), both contiguous.
struct CodeOperands {
  Tensor a, b_transposed;
  Float8 a_codes = Float8::e4m3, b_codes = Float8::e4m3;
};
BlasProduct code_product(const Tensor& c, const CodeOperands& codes, const MatmulOptions& options);
/// Whether cuBLASLt's rules allow for it: sizes that are multiples of 16, one matrix of E4M3, a
/// bias of bfloat16 into bfloat16. The device may still have none.
bool can_multiply_codes(const Tensor& c, std::int64_t depth, Float8 a_codes, Float8 b_codes,
                        const Tensor& bias);

/// How a product is made of calls of the BLAS and of kernels of ours, which do what the former
/// cannot.
struct ProductSteps {
  enum class Multiply { no, into_c, into_sums } multiply = Multiply::into_c;
  BlasEpilogue epilogue = BlasEpilogue::none;
  bool finish = false;         // sums, c and bias are added up, and rounded once
  bool gelu = false;           // GELU or its gradient are kernels
  bool bias_gradient = false;  // is a kernel
  bool operator==(const ProductSteps&) const = default;
};
/// `fused`: as much as the BLAS can have by its rules. It may still have no algorithm for it, which
/// only the machine knows; with false it is asked for no more than a bias. c: where the product is
/// written, which is GELU's input where there is one.
ProductSteps product_steps(const Tensor& c, const Tensor& a, const MatmulOptions& options,
                           bool fused = true);

/// Rows of c that go `into_sums` at a time: the stream has product_sums_bytes for them.
std::int64_t product_sums_rows(std::int64_t columns);

/// Whether the library has an algorithm for the product of matrices that lie there.
bool blas_has(const Stream& stream, const BlasProduct& product, const BlasMemory& memory);

/// The call itself. False, with nothing done, where the library has no algorithm for codes or
/// for an epilogue beyond a bias. cuBLASLt's handle, workspace (blas_workspace_bytes of device
/// memory) and the algorithm of each product are kept by the stream from their first use on. An
/// Error names the product and the library's status.
bool blas_multiply(const Stream& stream, const BlasProduct& product, const BlasMemory& memory);

}  // namespace triax::cuda
