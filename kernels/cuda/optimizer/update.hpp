// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device kernel of an optimizer's step: one pass over memory, whatever the optimizer.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/optimizer/clipped.hpp"
#include "kernels/optimizer/stochastic_rounding.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax::cuda {

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

/// Pointers to the state tensors of a rule.
template <int count>
struct StatePointers {
  float* data[count > 0 ? count : 1];
};

// Update of n elements. W: type of the 16-bit copy of the weights, or float if there is none.
template <class Rule, class G, class W, class Rounding>
struct Update {
  float* parameter;
  W* weights;
  const G* gradient;
  const float* factor;
  StatePointers<Rule::states> states;
  Rule rule;
  float most;
  Rounding rounding;

  template <int n, std::size_t... k>
  TRIAX_DEVICE void run(std::int64_t i, std::index_sequence<k...>) const {
    const Clip clip{*factor, most};
    if (clip.factor != clip.factor) return;
    float p[n], g[n], s[sizeof...(k) + 1][n];  // one more: there may be no states
    load<n>(p, parameter + i);
    load<n>(g, gradient + i);
    (load<n>(s[k], states.data[k] + i), ...);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) rule(clip(g[j]), p[j], s[k][j]...);
    store<n>(parameter + i, p);
    (store<n>(states.data[k] + i, s[k]), ...);
    if constexpr (!std::is_same_v<W, float>) {
      rounding.template round<W, n>(p, i);
      store<n>(weights + i, p);
    }
  }
  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    run<n>(i, std::make_index_sequence<Rule::states>());
  }
};

/// The device body of update() in kernels/optimizer/update.hpp. `states`: device pointers.
template <class Rule, class Options, class... State>
void update(const Stream& stream, const Rule& rule, const Tensor& parameter, const Tensor& weights,
            const Tensor& gradient, const Tensor& factor, const Options& options,
            State*... states) {
  static_assert(sizeof...(states) == Rule::states);
  check(weights.empty() || weights.dtype() != DType::f32, "a copy of the weights in float32");
  const std::int64_t n = parameter.elements();
  float* p = device_elements(parameter, n, "parameter");
  const float* clip = device_elements(factor, 1, "factor");
  const StatePointers<Rule::states> all{states...};
  const auto most = static_cast<float>(options.clip_value);
  with_type(gradient.dtype(), [&]<class G>(Type<G>) {
    const G* g = device_elements<G>(gradient, n, "gradient");
    with_type(weights.empty() ? DType::f32 : weights.dtype(), [&]<class W>(Type<W>) {
      W* copy = weights.empty() ? nullptr : device_elements<W>(weights, n, "weights");
      const bool allowed = aligned(p) && aligned(g) && aligned(copy) && (aligned(states) && ...);
      const auto launch = [&](const auto& rounding) {
        using Rounding = std::remove_cvref_t<decltype(rounding)>;
        pointwise<std::max(wide<G>, wide<W>)>(
            stream, n, allowed,
            Update<Rule, G, W, Rounding>{p, copy, g, clip, all, rule, most, rounding});
      };
      if constexpr (!std::is_same_v<W, float>)
        if (options.stochastic) return launch(Stochastically{*options.stochastic});
      launch(ToNearest{});
    });
  });
}

}  // namespace triax::cuda
