// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of CUDA runtime calls.
#include <cuda_runtime_api.h>

#include "kernels/base/check.hpp"

namespace triax::cuda {

/// The third part of the error: what the user can do.
inline const char* remedy_of(cudaError_t status) {
  switch (status) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "This program has no code for this GPU: build it with "
             "-DCMAKE_CUDA_ARCHITECTURES=native "
             "on a node that has one, or set run.device to cpu";
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
      return "The node's GPU or its driver is not ready, or another process uses the GPU "
             "exclusively. "
             "See nvidia-smi -q; run on another node, or set run.device to cpu";
    default:
      return "The error may be an earlier kernel's: set CUDA_LAUNCH_BLOCKING=1 in the environment, "
             "or "
             "run compute-sanitizer, to find it";
  }
}

/// Throws an Error that names the call unless it succeeded.
inline void check_call(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(fmt::format("{} failed", call),
              fmt::format("{}: {}", cudaGetErrorName(status), cudaGetErrorString(status)),
              remedy_of(status));
}

}  // namespace triax::cuda
