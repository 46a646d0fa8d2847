// SPDX-License-Identifier: Apache-2.0
#pragma once
// fp8 conversion on the GPU: the codes of kernels/base/float8.hpp except for the sign of a NaN,
// which it drops. GPUs before sm_89 have no instruction for it and take the host's code (40
// instructions).
#include "kernels/base/float8.hpp"
#include "kernels/cuda/launch/launch.hpp"

namespace triax::cuda {

// PTX has the conversion from version 7.8 on for sm_90, and from 8.1 on (CUDA 12.1) for sm_89.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ >= 900 ||  \
     (__CUDA_ARCH__ >= 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201))

/// The codes of two numbers, that of `low` in the low half. Rounds to nearest, ties to even;
/// numbers out of range, infinities included, become the largest finite number.
TRIAX_DEVICE inline std::uint16_t encode_pair(Float8Format format, float low, float high) {
  std::uint16_t codes;
  if (format.fraction_bits == 3)
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
  else
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
  return codes;
}

#else

TRIAX_DEVICE inline std::uint16_t encode_pair(Float8Format format, float low, float high) {
  return static_cast<std::uint16_t>(encode(format, low) | encode(format, high) << 8);
}

#endif

}  // namespace triax::cuda
