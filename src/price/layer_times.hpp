// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seconds of a layer's work on a machine.
#include "src/machine/machine.hpp"
#include "src/price/layer_work.hpp"

namespace triax {

/// Types of a job's products.
struct ProductTypes {
  DType type = DType::f32;
  bool fp8 = false;  // products of blocks; attention and head have `type`
};

/// Share of the peak that a product reaches: the machine's largest one, less where a side is short:
/// m / (m + h) for each side m, h being Efficiency::half_side.
double product_efficiency(const MatrixProduct& product, const Machine& machine);

/// Seconds of a product of elements of `element` bytes, at a peak of `flops` FLOP/s.
double product_seconds(const MatrixProduct& product, double flops, double element,
                       const Machine& machine);

/// Seconds of the forward and of the backward pass, without messages.
struct LayerTimes {
  double forward = 0.0, backward = 0.0;
  double attention = 0.0;  // of the forward pass: what selective recomputation repeats
  double weights = 0.0;    // of the backward pass: products of weight gradients
};
/// The type must be one that the machine has (Machine::flops).
LayerTimes layer_times(const LayerWork& work, const ProductTypes& types, const Machine& machine);

}  // namespace triax
