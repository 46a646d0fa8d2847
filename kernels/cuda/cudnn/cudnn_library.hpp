// SPDX-License-Identifier: Apache-2.0
#pragma once
// cuDNN's graph interface, opened by dlopen at first use, so that the program starts on machines
// without it.
#include <cudnn.h>

#include <memory>

#include "kernels/base/check.hpp"

namespace triax::cuda {

/// Functions of the cuDNN that was found.
struct CudnnLibrary {
  /// Null if the machine has no cuDNN 9, or one older than oldest_cudnn.
  static std::shared_ptr<const CudnnLibrary> find();

  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  /// Throws an Error that names the call unless it succeeded.
  void check(cudnnStatus_t status, const char* call) const;
};

/// Oldest cuDNN that the graphs here were tried with.
inline constexpr std::size_t oldest_cudnn = 91900;

}  // namespace triax::cuda
