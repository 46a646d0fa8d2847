// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products of 8-bit floating-point numbers (kernels/base/float8.hpp). Each matrix has one
// scale, computed anew from its elements ("current" scaling), so no state passes from call to call.
// The scale is a power of two: exact in bf16, so that products are the same with and without fp8
// hardware. Under any scale a matrix keeps its digits, except elements so far below its largest one
// (a factor of 2^14 in E4M3, 2^29 in E5M2) that they lose some. Shards of a matrix quantised
// separately equal the shards of the quantised matrix up to that.
#include "kernels/base/float8.hpp"
#include "kernels/matmul/matmul.hpp"

namespace triax {

/// Formats of the operands of fp8_matmul.
struct Float8Operands {
  Float8 a = Float8::e4m3;
  Float8 b = Float8::e4m3;
};

/// to = from, quantised; scales (2, float32) = {1 / s, s}, where s is scale_for() of the largest
/// magnitude in `from`. cuBLASLt reads the first of them, aligned to 16 bytes. from: (R, C) of
/// float32 or bfloat16, contiguous. to: either the type of `from`, for the quantised numbers (exact
/// in that type), or u8, for the codes of from * s; (R, C), or the transposed view of (C, R),
/// contiguous. If an element is not finite, all become NaN.
void fp8_quantise(const Stream& stream, const Tensor& to, const Tensor& scales, const Tensor& from,
                  Float8 format);

/// matmul of a and b quantised; both are contiguous or transposed views of contiguous matrices.
/// Devices with fp8 products (sm_89 and later; M, N and K multiples of 16) multiply the codes.
/// Elsewhere the quantised numbers are multiplied in the type of a and b, with the same result up
/// to the order of the sums. The bias gradient uses a and b unquantised.
void fp8_matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                const Float8Operands& formats, const MatmulOptions& options, Arena& scratch);
/// Upper bound of the bytes that fp8_matmul takes from `scratch` for operands of `type`. The bias
/// gradient takes its own from BiasGradient::scratch, after these are released.
std::size_t fp8_matmul_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k, DType type);

}  // namespace triax
