#pragma once
// Calls of the CUDA runtime, each checked by name.
#include <cuda_runtime_api.h>

#include "kernels/base/check.hpp"

namespace triax::cuda {

/// Throws an Error that names the call, unless it succeeded.
inline void check_call(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(fmt::format("{} failed", call),
              fmt::format("{}: {}", cudaGetErrorName(status), cudaGetErrorString(status)),
              "A kernel's own error shows at a later call: CUDA_LAUNCH_BLOCKING=1 or "
              "compute-sanitizer tells which kernel it was");
}

}  // namespace triax::cuda
