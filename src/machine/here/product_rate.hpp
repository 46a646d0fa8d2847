// SPDX-License-Identifier: Apache-2.0
#pragma once
// Speed of this rank's matrix products, measured.
#include <cstdint>

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

/// FLOP/s of the product in `type` on `space`, over `seconds` of repetition after a first one, with
/// all that disturbs it meanwhile. Requires a KernelRuntime; on a device, a bound one.
double product_rate(const ProductSize& size, DType type, MemorySpace space, double seconds);

}  // namespace triax
