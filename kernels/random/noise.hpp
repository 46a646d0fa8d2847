// SPDX-License-Identifier: Apache-2.0
#pragma once
// Uniform noise that is a function of (key, global element index): the same on every process grid.
#include <cstdint>

#include "kernels/base/device/device.hpp"

namespace triax {

struct Noise {
  float magnitude = 0.0F;  // largest absolute value
  std::uint64_t key = 0;   // of the generator
};

/// y += magnitude u(first_index + i), u uniform in (-1, 1): word i of the stream of the key
/// (random.hpp). y: contiguous; first_index >= 0.
void add_noise(const Stream& stream, const Tensor& y, const Noise& noise, std::int64_t first_index);

}  // namespace triax
