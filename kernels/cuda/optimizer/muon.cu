// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/orthogonal/muon.hpp"

#include "kernels/cuda/optimizer/update.hpp"
#include "kernels/cuda/state_kernels.hpp"
#include "kernels/optimizer/orthogonal/muon_update.hpp"

namespace triax::cuda {
namespace {

struct DivideByNorm {
  float* x;
  const double* squares;
  double epsilon;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    const float divisor = norm_divisor(*squares, epsilon);
    float values[n];
    load<n>(values, x + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] /= divisor;
    store<n>(x + i, values);
  }
};

}  // namespace

void muon_momentum(const Stream& stream, const Tensor& direction, const Tensor& gradient,
                   const Tensor& factor, const Tensor& momentum, const MuonOptions& options) {
  MuonOptions exact = options;
  exact.stochastic.reset();
  update(stream, MuonMomentumRule(exact), direction, Tensor{}, gradient, factor, exact,
         device_elements(momentum, direction.elements(), "momentum"));
}

void muon_step(const Stream& stream, const Tensor& parameter, const Tensor& weights,
               const Tensor& direction, const Tensor& factor, const MuonOptions& options) {
  update(stream, MuonStepRule(options), parameter, weights, direction, factor, options,
         device_elements(direction, parameter.elements(), "direction"));
}

void divide_by_norm(const Stream& stream, const Tensor& x, const Tensor& squares, double epsilon) {
  const std::int64_t n = x.elements();
  float* to = device_elements(x, n, "x");
  pointwise<wide<float>>(stream, n, aligned(to),
                         DivideByNorm{to, device_elements<double>(squares, 1, "squares"), epsilon});
}

}  // namespace triax::cuda
