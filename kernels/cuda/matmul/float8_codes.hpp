#pragma once
// Codes of 8 bits as the GPU makes them: those of kernels/base/float8.hpp, but for the sign of a
// NaN, which it drops. What has no conversion of its own (before sm_89) takes the host's 40
// instructions.
#include "kernels/base/float8.hpp"
#include "kernels/cuda/launch/launch.hpp"

namespace triax::cuda {

// PTX has the conversion on sm_90 from 7.8 on, on sm_89 from 8.1 on (CUDA 12.1).
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ >= 900 ||  \
     (__CUDA_ARCH__ >= 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1201))

/// The codes of two numbers, that of `low` in the low half: rounded to nearest, ties to even; what
/// is too large, infinities too, becomes the largest finite number.
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
