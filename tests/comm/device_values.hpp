// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device memory for tests of device messages.
#include <algorithm>
#include <vector>

#include "kernels/base/device/mirror.hpp"

namespace triax {

/// Floats on a device; the host sets and reads them through a copy.
class Values {
 public:
  Values(const Stream& queue, const std::vector<float>& values)
      : memory_(MemorySpace::device, values.size() * sizeof(float)), n_(std::ssize(values)) {
    std::copy(values.begin(), values.end(), static_cast<float*>(memory_.here().data()));
    memory_.push(queue);
  }
  Tensor tensor() const { return memory_.there().tensor(DType::f32, {n_}); }
  std::vector<float> seen(const Stream& queue) const {
    memory_.pull(queue);
    const auto* const begin = static_cast<const float*>(memory_.here().data());
    return {begin, begin + n_};
  }

 private:
  Mirror memory_;
  std::int64_t n_;
};

}  // namespace triax
