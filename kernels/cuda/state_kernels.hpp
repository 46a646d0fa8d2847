// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device bodies, as in kernels.hpp, of operations on optimizer states: averages of weights, Muon.
#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/orthogonal/muon.hpp"
#include "kernels/optimizer/weight_average.hpp"

namespace triax::cuda {

decltype(triax::weight_average) weight_average;
decltype(triax::muon_momentum) muon_momentum;
decltype(triax::muon_step) muon_step;
decltype(triax::divide_by_norm) divide_by_norm;

}  // namespace triax::cuda
