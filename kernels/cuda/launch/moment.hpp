// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times of a stream's work, by CUDA events.
#include <cuda_runtime_api.h>

#include <utility>

#include "kernels/cuda/launch/check_call.hpp"

namespace triax::cuda {

/// A CUDA event that records when a stream reaches it.
class Moment {
 public:
  Moment() { check_call(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Moment() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Moment(Moment&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Moment& operator=(Moment&&) = delete;

  void record(cudaStream_t stream) const {
    check_call(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Milliseconds between two recorded moments. The stream must have passed both.
inline float milliseconds_between(const Moment& begin, const Moment& end) {
  float milliseconds = 0.0F;
  check_call(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return milliseconds;
}

}  // namespace triax::cuda
