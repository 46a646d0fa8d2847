#pragma once
// Words for code that is compiled for the host and, in a build with CUDA, for a device too. What is
// constexpr needs none of them: nvcc takes it for both (--expt-relaxed-constexpr).

#ifdef __CUDACC__
#define TRIAX_HOST_DEVICE __host__ __device__
#else
#define TRIAX_HOST_DEVICE
#endif

// Before a loop over a constant number of elements. nvcc compiles a file more than once: for each
// architecture, and for the host, where nothing that it unrolls is run.
#if defined(__CUDA_ARCH__)
#define TRIAX_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define TRIAX_UNROLL
#else
#define TRIAX_UNROLL _Pragma("GCC unroll 32")
#endif
