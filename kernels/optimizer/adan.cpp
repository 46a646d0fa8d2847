// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adan.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/adan_update.hpp"
#include "kernels/optimizer/update.hpp"

namespace triax {

void adan(const Stream& stream, const Tensor& parameter, const Tensor& weights,
          const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& u,
          const Tensor& v, const Tensor& before, const AdanOptions& options) {
  if (on_device(stream))
    return cuda::adan(stream, parameter, weights, gradient, factor, m, u, v, before, options);
  const std::int64_t n = parameter.elements();
  update(AdanRule(options), {parameter, weights, gradient, factor}, options, elements_of(m, n, "m"),
         elements_of(u, n, "u"), elements_of(v, n, "v"), elements_of(before, n, "before"));
}

}  // namespace triax
