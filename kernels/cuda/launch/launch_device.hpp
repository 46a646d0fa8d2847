// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nvcc side of kernels/cuda/launch/launch.hpp.
#include <cstdint>

#include <typeinfo>

#include "kernels/cuda/launch/check_call.hpp"
#include "kernels/cuda/launch/kernel_times.hpp"
#include "kernels/cuda/launch/launch_shape.hpp"
#include "kernels/cuda/launch/stream.hpp"

#define TRIAX_DEVICE __device__

namespace triax::cuda {

class Block {
 public:
  TRIAX_DEVICE int thread_x() const { return static_cast<int>(threadIdx.x); }
  TRIAX_DEVICE int thread_y() const { return static_cast<int>(threadIdx.y); }
  TRIAX_DEVICE int threads_x() const { return static_cast<int>(blockDim.x); }
  TRIAX_DEVICE int threads_y() const { return static_cast<int>(blockDim.y); }
  TRIAX_DEVICE std::int64_t index_x() const { return blockIdx.x; }
  TRIAX_DEVICE std::int64_t index_y() const { return blockIdx.y; }
  TRIAX_DEVICE void sync() const { __syncthreads(); }
  /// The value of the lane whose number differs in the bits of `mask`. All lanes of the warp must
  /// call it.
  template <class T>
  TRIAX_DEVICE T shuffle_xor(T value, int mask) const {
    return __shfl_xor_sync(0xffffffffU, value, mask);
  }
  /// The CUDA block's shared memory, aligned to 16 bytes.
  template <class T>
  TRIAX_DEVICE T* shared() const {
    extern __shared__ uint4 memory[];
    return reinterpret_cast<T*>(memory);
  }
};

template <class Body>
constexpr int resident_blocks_of() {
  if constexpr (requires { Body::resident_blocks; })
    return Body::resident_blocks;
  else
    return 1;
}

template <class Body>
__global__ void __launch_bounds__(Body::max_threads, resident_blocks_of<Body>())
    run_body(const Body body) {
  body(Block{});
}

/// Starts `body` on every thread of `shape`. Does nothing for a grid without blocks.
template <class Body>
void launch(const Stream& stream, const LaunchShape& shape, Body body) {
  constexpr std::size_t without_asking = 49152;
  if (shape.blocks_x == 0 || shape.blocks_y == 0) return;
  check_shape(shape, Body::max_threads);
  const auto kernel = reinterpret_cast<const void*>(&run_body<Body>);
  if (shape.shared_bytes > without_asking) {
    check_shared(shape, shared_memory_of(stream));
    check_call(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shape.shared_bytes)),
               "cudaFuncSetAttribute");
  }
  void* arguments[] = {&body};
  const KernelTimer timer(stream, typeid(Body).name());
  check_call(
      cudaLaunchKernel(
          kernel,
          dim3(static_cast<unsigned>(shape.blocks_x), static_cast<unsigned>(shape.blocks_y)),
          dim3(static_cast<unsigned>(shape.threads_x), static_cast<unsigned>(shape.threads_y)),
          arguments, shape.shared_bytes, static_cast<cudaStream_t>(native_stream(stream))),
      "cudaLaunchKernel");
}

}  // namespace triax::cuda
