// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host loop of an optimizer's step: one pass over memory, whatever the optimizer.
#include <cmath>
#include <type_traits>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/optimizer/clipped.hpp"
#include "kernels/optimizer/stochastic_rounding.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax {

/// Tensors of a step of n parameters that every optimizer has: see adamw().
struct Stepped {
  const Tensor& parameter;
  const Tensor& weights;
  const Tensor& gradient;
  const Tensor& factor;
};

template <class T>
void round_stochastically(T* to, const float* from, std::int64_t n, const ElementNumbers& numbers) {
  constexpr std::int64_t few = 2048;  // elements; their words stay in L1
  parallel_for_blocks(n, few, [=](std::int64_t begin, std::int64_t end) {
    std::uint32_t words[few];
    numbers.words(words, begin, end);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i)
      to[i] = rounded_stochastically<T>(from[i], words[i - begin]);
  });
}
inline void round_stochastically(float*, const float*, std::int64_t, const ElementNumbers&) {}

/// Calls rule(g, p, s...) for every element, where g is the clipped gradient, p the parameter and
/// s... its elements of `states`; the rule updates p and s. Then the weights become p, rounded as
/// `options` say. A factor that is NaN changes nothing.
template <class Rule, class Options, class... State>
void update(const Rule& rule, const Stepped& of, const Options& options, State*... states) {
  constexpr std::int64_t block = 8192;  // elements per parallel task
  check(of.weights.empty() || of.weights.dtype() != DType::f32, "a copy of the weights in float32");
  const std::int64_t n = of.parameter.elements();
  float* p = elements_of(of.parameter, n, "parameter");
  const Clip clip{*elements_of(of.factor, 1, "factor"), static_cast<float>(options.clip_value)};
  if (std::isnan(clip.factor)) return;
  const auto step = [=](const auto* g, auto* copy) {
    using Copy = std::remove_pointer_t<decltype(copy)>;
    parallel_for_blocks(n, block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        rule(clip(g[i]), p[i], states[i]...);
        if constexpr (!std::is_same_v<Copy, float>) copy[i] = p[i];
      }
    });
  };
  const auto step_and_round = [&](const auto* g, auto* copy) {
    if (!options.stochastic || copy == nullptr) return step(g, copy);
    step(g, static_cast<float*>(nullptr));
    round_stochastically(copy, p, n, *options.stochastic);
  };
  with_type(of.gradient.dtype(), [&]<class G>(Type<G>) {
    const G* g = elements_of<G>(of.gradient, n, "gradient");
    if (of.weights.empty()) return step_and_round(g, static_cast<float*>(nullptr));
    with_type(of.weights.dtype(), [&]<class W>(Type<W>) {
      step_and_round(g, elements_of<W>(of.weights, n, "weights"));
    });
  });
}

}  // namespace triax
