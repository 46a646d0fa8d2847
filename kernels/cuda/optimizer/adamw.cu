// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adamw.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/optimizer/adamw_update.hpp"
#include "kernels/optimizer/stochastic_rounding.hpp"

namespace triax::cuda {
namespace {

struct ToNearest {
  template <class W, int n>
  TRIAX_DEVICE void round(float*, std::int64_t) const {}
};
struct Stochastically {
  ElementNumbers numbers;
  template <class W, int n>
  TRIAX_DEVICE void round(float* values, std::int64_t i) const {
    std::uint32_t words[n];
    numbers.few_words<n>(words, i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] = rounded_stochastically<W>(values[j], words[j]);
  }
};

// AdamW update of n elements. W: type of the 16-bit copy of the weights, or float if there is none.
template <class G, class W, class Rounding>
struct Update {
  float* parameter;
  W* weights;
  const G* gradient;
  const float* factor;
  float* m;
  float* v;
  AdamWFactors factors;
  Rounding rounding;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    const float clip = *factor;
    if (clip != clip) return;
    float p[n], g[n], first[n], second[n];
    load<n>(p, parameter + i);
    load<n>(g, gradient + i);
    load<n>(first, m + i);
    load<n>(second, v + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) adamw_update(factors, clip * g[j], p[j], first[j], second[j]);
    store<n>(parameter + i, p);
    store<n>(m + i, first);
    store<n>(v + i, second);
    if constexpr (!std::is_same_v<W, float>) {
      rounding.template round<W, n>(p, i);
      store<n>(weights + i, p);
    }
  }
};

}  // namespace

void adamw(const Stream& stream, const Tensor& parameter, const Tensor& weights,
           const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
           const AdamWOptions& options) {
  check(options.step >= 1, "AdamW step {}: steps count from 1", options.step);
  check(weights.empty() || weights.dtype() != DType::f32, "a copy of the weights in float32");
  const std::int64_t n = parameter.elements();
  float* p = device_elements(parameter, n, "parameter");
  const float* clip = device_elements(factor, 1, "factor");
  float* first = device_elements(m, n, "m");
  float* second = device_elements(v, n, "v");
  const AdamWFactors factors(options);
  const DType copied = weights.empty() ? DType::f32 : weights.dtype();
  with_type(gradient.dtype(), [&]<class G>(Type<G>) {
    const G* g = device_elements<G>(gradient, n, "gradient");
    with_type(copied, [&]<class W>(Type<W>) {
      W* copy = weights.empty() ? nullptr : device_elements<W>(weights, n, "weights");
      const bool allowed =
          aligned(p) && aligned(first) && aligned(second) && aligned(g) && aligned(copy);
      const auto update = [&](const auto& rounding) {
        using Rounding = std::remove_cvref_t<decltype(rounding)>;
        pointwise<std::max(wide<G>, wide<W>)>(
            stream, n, allowed,
            Update<G, W, Rounding>{p, copy, g, clip, first, second, factors, rounding});
      };
      if constexpr (!std::is_same_v<W, float>)
        if (options.stochastic) return update(Stochastically{*options.stochastic});
      update(ToNearest{});
    });
  });
}

}  // namespace triax::cuda
