// SPDX-License-Identifier: Apache-2.0
#include "src/price/layer_times.hpp"

#include <algorithm>

namespace triax {

double product_efficiency(const MatrixProduct& product, const Machine& machine) {
  const double half = machine.efficiency.half_side;
  double share = machine.efficiency.products;
  for (const double side : {product.m, product.n, product.k}) share *= side / (side + half);
  return share;
}

double product_seconds(const MatrixProduct& product, double flops, double element,
                       const Machine& machine) {
  const double bytes =
      element * (product.m * product.k + product.k * product.n + product.m * product.n);
  return std::max(product.flops() / (flops * product_efficiency(product, machine)),
                  bytes / (machine.memory_bandwidth * machine.efficiency.memory));
}

LayerTimes layer_times(const LayerWork& work, const ProductTypes& types, const Machine& machine) {
  const double peak = machine.flops(types.type, false);
  const double product_peak = machine.flops(types.type, types.fp8);
  const double bandwidth = machine.memory_bandwidth * machine.efficiency.memory;
  const auto element = static_cast<double>(size_of(types.type));
  double products = 0.0;
  for (const MatrixProduct& product : work.products)
    products += product_seconds(product, product_peak, element, machine);
  const double attention = work.attention_flops / (peak * machine.efficiency.attention);
  const double other = work.bytes / bandwidth;
  const double fixed = work.kernels * machine.efficiency.kernel_seconds;
  return {.forward = products + attention + other + fixed,
          .backward = 2.0 * (products + other + fixed) + 2.5 * attention,
          .attention = attention,
          .weights = products};
}

}  // namespace triax
