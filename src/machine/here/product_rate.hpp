// SPDX-License-Identifier: Apache-2.0
#pragma once
// Speed of this rank's matrix products, measured.
#include <cstdint>
#include <functional>

#include "kernels/base/device/device.hpp"

namespace triax {

/// Sides of a product: (rows, depth) times (depth, columns).
struct ProductSize {
  std::int64_t rows = 1, depth = 1, columns = 1;
  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(depth) *
           static_cast<double>(columns);
  }
};

/// FLOP/s of the quickest product in `type` on `space` in `seconds` of repetition: what the rank
/// can do when nothing disturbs it. Requires a KernelRuntime; on a device, a bound one.
double product_rate(const ProductSize& size, DType type, MemorySpace space, double seconds);

/// Least seconds of a call, of calls for `seconds` after a first one.
double least_seconds(double seconds, const std::function<void()>& body);

}  // namespace triax
