// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running average of weights (Polyak averaging; EMA) on a flat range of parameters.
#include "kernels/base/device/device.hpp"

namespace triax {

/// average += (1 - decay) * (parameter - average), in one pass over memory: decay * average +
/// (1 - decay) * parameter with one rounding less, so that equal values stay. `average`,
/// `parameter`: (n) float32. `factor`: (1) float32, that of the step before; NaN changes nothing.
void weight_average(const Stream& stream, const Tensor& average, const Tensor& parameter,
                    const Tensor& factor, double decay);

}  // namespace triax
