// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/cudnn_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace triax::cuda {
namespace {

// Loads a function from the library; false if the library does not have it.
template <class Function>
bool find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::shared_ptr<const CudnnLibrary> CudnnLibrary::find() {
  const char* wanted = std::getenv("TRIAX_CUDNN");
  if (wanted != nullptr && std::string_view(wanted) == "off") return nullptr;
  // cuDNN stays loaded (RTLD_NODELETE): what it started may still be running when the process ends.
  void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return nullptr;
  const auto found = std::make_shared<CudnnLibrary>();
  const bool whole =
      find_function(library, "cudnnGetVersion", found->get_version) &&
      find_function(library, "cudnnGetErrorString", found->get_error_string) &&
      find_function(library, "cudnnGetLastErrorString", found->get_last_error_string) &&
      find_function(library, "cudnnCreate", found->create) &&
      find_function(library, "cudnnDestroy", found->destroy) &&
      find_function(library, "cudnnSetStream", found->set_stream) &&
      find_function(library, "cudnnBackendCreateDescriptor", found->create_descriptor) &&
      find_function(library, "cudnnBackendDestroyDescriptor", found->destroy_descriptor) &&
      find_function(library, "cudnnBackendFinalize", found->finalize) &&
      find_function(library, "cudnnBackendSetAttribute", found->set_attribute) &&
      find_function(library, "cudnnBackendGetAttribute", found->get_attribute) &&
      find_function(library, "cudnnBackendExecute", found->execute);
  return whole && found->get_version() >= oldest_cudnn ? found : nullptr;
}

void CudnnLibrary::check(cudnnStatus_t status, const char* call) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> why{};
  get_last_error_string(why.data(), why.size());
  throw Error(
      fmt::format("{} failed for attention", call),
      fmt::format("{}: {}", get_error_string(status), why.data()),
      "Set CUDNN_LOGLEVEL_DBG=2 and CUDNN_LOGDEST_DBG=stderr in the environment to see cuDNN's "
      "reason, or TRIAX_CUDNN=off to run without cuDNN");
}

}  // namespace triax::cuda
