// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/orthogonal/muon.hpp"

#include "kernels/cuda/state_kernels.hpp"
#include "kernels/optimizer/orthogonal/muon_update.hpp"
#include "kernels/optimizer/update.hpp"

namespace triax {

void muon_momentum(const Stream& stream, const Tensor& direction, const Tensor& gradient,
                   const Tensor& factor, const Tensor& momentum, const MuonOptions& options) {
  if (on_device(stream))
    return cuda::muon_momentum(stream, direction, gradient, factor, momentum, options);
  MuonOptions exact = options;
  exact.stochastic.reset();
  update(MuonMomentumRule(exact), {direction, Tensor{}, gradient, factor}, exact,
         elements_of(momentum, direction.elements(), "momentum"));
}

void muon_step(const Stream& stream, const Tensor& parameter, const Tensor& weights,
               const Tensor& direction, const Tensor& factor, const MuonOptions& options) {
  if (on_device(stream))
    return cuda::muon_step(stream, parameter, weights, direction, factor, options);
  update(MuonStepRule(options), {parameter, weights, direction, factor}, options,
         elements_of(direction, parameter.elements(), "direction"));
}

void divide_by_norm(const Stream& stream, const Tensor& x, const Tensor& squares, double epsilon) {
  if (on_device(stream)) return cuda::divide_by_norm(stream, x, squares, epsilon);
  constexpr std::int64_t block = 8192;  // elements per parallel task
  const std::int64_t n = x.elements();
  float* to = elements_of(x, n, "x");
  const float divisor = norm_divisor(*elements_of<double>(squares, 1, "squares"), epsilon);
  parallel_for_blocks(n, block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) to[i] /= divisor;
  });
}

}  // namespace triax
