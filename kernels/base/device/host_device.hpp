// SPDX-License-Identifier: Apache-2.0
#pragma once
// Macros for code that is compiled for the host and, with CUDA, also for a device. constexpr
// functions need no macro: nvcc compiles them for both (--expt-relaxed-constexpr).

#ifdef __CUDACC__
#define TRIAX_HOST_DEVICE __host__ __device__
#else
#define TRIAX_HOST_DEVICE
#endif

// Unrolls the next loop, over a constant number of elements. nvcc compiles a file once per
// architecture and once for the host; the host's version of a kernel never runs, so it is not
// unrolled.
#if defined(__CUDA_ARCH__)
#define TRIAX_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define TRIAX_UNROLL
#else
#define TRIAX_UNROLL _Pragma("GCC unroll 32")
#endif
