// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device bodies of the kernels of preference tuning and of noise on embeddings, beside those of
// kernels.hpp.
#include "kernels/cuda/kernels.hpp"
#include "kernels/loss/pair_loss.hpp"
#include "kernels/random/noise.hpp"

namespace triax::cuda {

decltype(triax::add_noise) add_noise;
decltype(triax::pair_loss) pair_loss;
decltype(triax::scaled_cross_entropy_backward) scaled_cross_entropy_backward;

}  // namespace triax::cuda
