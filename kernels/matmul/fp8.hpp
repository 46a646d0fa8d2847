#pragma once
// Matrix products of 8-bit floating-point numbers (kernels/base/float8.hpp), each matrix with one
// scale, found anew from what it holds ("current" scaling): no state from call to call.
// The scale is a power of two. So a matrix keeps the same digits under any scale, but for what is
// so small beside its largest element (a factor of 2^14 in E4M3, 2^29 in E5M2) that it loses some:
// parts of a matrix, quantised apart, are the parts of the whole matrix up to that.
#include "kernels/base/float8.hpp"
#include "kernels/matmul/matmul.hpp"

namespace triax {

struct Float8Operands {
  Float8 a = Float8::e4m3;
  Float8 b = Float8::e4m3;
};

/// to = from, quantised; scales (2, float32) = {1 / s, s}, where s is scale_for the largest
/// magnitude in `from`; cuBLASLt reads the first, aligned to 16 bytes. from: (R, C) of float32 or
/// bfloat16, contiguous. to: of the type of `from`, the numbers themselves (they are exact there),
/// or u8, the codes of from times s; (R, C), or the transposed view of (C, R), contiguous. Where an
/// element is not finite, all become NaN.
void fp8_quantise(const Stream& stream, const Tensor& to, const Tensor& scales, const Tensor& from,
                  Float8 format);

/// c = a b as matmul does it, of a and b quantised; they are contiguous or transposed views of what
/// is. Where a device multiplies codes (sm_89 and later; M, N and K multiples of 16), it does; else
/// the numbers are multiplied in the type of a and b: the same up to the order of the sums. The
/// gradient of a bias is of a and b as they are.
void fp8_matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                const Float8Operands& formats, const MatmulOptions& options, Arena& scratch);
/// The most that fp8_matmul takes from `scratch`, for operands of `type`; beside it, a gradient of
/// a bias takes its own from BiasGradient::scratch when this is given back.
std::size_t fp8_matmul_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k, DType type);

}  // namespace triax
