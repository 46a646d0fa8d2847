// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adamw.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/adamw_update.hpp"
#include "kernels/optimizer/stochastic_rounding.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {
namespace {

constexpr std::int64_t block = 8192;  // elements per parallel task

template <class T>
void round(T* to, const float* from, std::int64_t n, const ElementNumbers& numbers) {
  constexpr std::int64_t few = 2048;  // elements; their words stay in L1
  parallel_for_blocks(n, few, [=](std::int64_t begin, std::int64_t end) {
    std::uint32_t words[few];
    numbers.words(words, begin, end);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i)
      to[i] = rounded_stochastically<T>(from[i], words[i - begin]);
  });
}
void round(float*, const float*, std::int64_t, const ElementNumbers&) {}

}  // namespace

void adamw(const Stream& stream, const Tensor& parameter, const Tensor& weights,
           const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
           const AdamWOptions& options) {
  if (on_device(stream))
    return cuda::adamw(stream, parameter, weights, gradient, factor, m, v, options);
  check(options.step >= 1, "AdamW step {}: steps count from 1", options.step);
  check(weights.empty() || weights.dtype() != DType::f32, "a copy of the weights in float32");
  const std::int64_t n = parameter.elements();
  float* p = elements_of(parameter, n, "parameter");
  float* first = elements_of(m, n, "m");
  float* second = elements_of(v, n, "v");
  const float clip = *elements_of(factor, 1, "factor");
  if (std::isnan(clip)) return;
  const AdamWFactors f(options);
  const auto step = [=](const auto* g, auto* copy) {
    using Copy = std::remove_pointer_t<decltype(copy)>;
    parallel_for_blocks(n, block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        adamw_update(f, clip * g[i], p[i], first[i], second[i]);
        if constexpr (!std::is_same_v<Copy, float>) copy[i] = p[i];
      }
    });
  };
  const auto update = [&](const auto* g, auto* copy) {
    if (!options.stochastic || copy == nullptr) return step(g, copy);
    step(g, static_cast<float*>(nullptr));
    round(copy, p, n, *options.stochastic);
  };
  with_type(gradient.dtype(), [&]<class G>(Type<G>) {
    const G* g = elements_of<G>(gradient, n, "gradient");
    if (weights.empty()) return update(g, static_cast<float*>(nullptr));
    with_type(weights.dtype(),
              [&]<class W>(Type<W>) { update(g, elements_of<W>(weights, n, "weights")); });
  });
}

}  // namespace triax
