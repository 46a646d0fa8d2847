// SPDX-License-Identifier: Apache-2.0
#pragma once
// Owner of a descriptor of cuDNN's backend interface.
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_library.hpp"

namespace triax::cuda {

/// cuDNN's name for the attribute type T.
template <class T>
constexpr cudnnBackendAttributeType_t cudnn_type_of() {
  if constexpr (std::is_same_v<T, std::int64_t>) return CUDNN_TYPE_INT64;
  if constexpr (std::is_same_v<T, char>) return CUDNN_TYPE_CHAR;
  if constexpr (std::is_same_v<T, bool>) return CUDNN_TYPE_BOOLEAN;
  if constexpr (std::is_same_v<T, void*>) return CUDNN_TYPE_VOID_PTR;
  if constexpr (std::is_same_v<T, cudnnHandle_t>) return CUDNN_TYPE_HANDLE;
  if constexpr (std::is_same_v<T, cudnnDataType_t>) return CUDNN_TYPE_DATA_TYPE;
  if constexpr (std::is_same_v<T, cudnnPointwiseMode_t>) return CUDNN_TYPE_POINTWISE_MODE;
  if constexpr (std::is_same_v<T, cudnnReduceTensorOp_t>) return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
  if constexpr (std::is_same_v<T, cudnnBackendHeurMode_t>) return CUDNN_TYPE_HEUR_MODE;
  if constexpr (std::is_same_v<T, cudnnBackendKnobType_t>) return CUDNN_TYPE_KNOB_TYPE;
  if constexpr (std::is_same_v<T, cudnnBackendNumericalNote_t>) return CUDNN_TYPE_NUMERICAL_NOTE;
}

class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type)
      : library_(&library) {
    library.check(library.create_descriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : library_(other.library_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~CudnnDescriptor() {  // a destructor cannot report a failure
    if (descriptor_ != nullptr) library_->destroy_descriptor(descriptor_);
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <class T>
  CudnnDescriptor& set_all(cudnnBackendAttributeName_t name, std::span<const T> values) {
    return put(name, cudnn_type_of<T>(), values.size(), values.data());
  }
  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    return put(name, cudnn_type_of<T>(), 1, &value);
  }
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& part) {
    return put(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part.descriptor_);
  }
  CudnnDescriptor& set_all(cudnnBackendAttributeName_t name,
                           const std::vector<CudnnDescriptor>& parts) {
    std::vector<cudnnBackendDescriptor_t> handles;
    for (const CudnnDescriptor& part : parts) handles.push_back(part.descriptor_);
    return put(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles.size(), handles.data());
  }

  template <class T>
  T number(cudnnBackendAttributeName_t name) const {
    T value{};
    std::int64_t count = 0;
    library_->check(
        library_->get_attribute(descriptor_, name, cudnn_type_of<T>(), 1, &count, &value),
        "cudnnBackendGetAttribute");
    return value;
  }
  /// At most `most` values of an attribute.
  template <class T>
  std::vector<T> numbers(cudnnBackendAttributeName_t name, std::int64_t most) const {
    std::vector<T> values(static_cast<std::size_t>(most));
    std::int64_t count = 0;
    library_->check(
        library_->get_attribute(descriptor_, name, cudnn_type_of<T>(), most, &count, values.data()),
        "cudnnBackendGetAttribute");
    values.resize(static_cast<std::size_t>(std::min(most, count)));
    return values;
  }
  /// At most `most` descriptors of type `type` held by an attribute.
  std::vector<CudnnDescriptor> parts(cudnnBackendAttributeName_t name,
                                     cudnnBackendDescriptorType_t type, std::int64_t most) const {
    std::vector<CudnnDescriptor> made;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (std::int64_t i = 0; i < most; ++i)
      handles.push_back(made.emplace_back(*library_, type).get());
    std::int64_t count = 0;
    library_->check(library_->get_attribute(descriptor_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most,
                                            &count, handles.data()),
                    "cudnnBackendGetAttribute");
    made.erase(made.begin() + std::min(most, count), made.end());
    return made;
  }

  void finish() { library_->check(library_->finalize(descriptor_), "cudnnBackendFinalize"); }
  /// Finalizes the descriptor. Returns false if cuDNN does not support it, or if its kernel does
  /// not compile (9.19's gradients of a single token on sm_100).
  bool finish_if_supported() {
    const cudnnStatus_t status = library_->finalize(descriptor_);
    if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ||
        status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED)
      return false;
    library_->check(status, "cudnnBackendFinalize");
    return true;
  }

 private:
  CudnnDescriptor& put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       std::size_t count, const void* values) {
    library_->check(
        library_->set_attribute(descriptor_, name, type, static_cast<std::int64_t>(count), values),
        "cudnnBackendSetAttribute");
    return *this;
  }

  const CudnnLibrary* library_;  // outlives the descriptor
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace triax::cuda
