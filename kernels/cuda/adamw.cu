#include "kernels/adamw.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/pointwise.hpp"
#include "kernels/formulas.hpp"

namespace triax::cuda {
namespace {

// The copy's type is float where there is none.
template <class G, class W>
struct Update {
  float* parameter;
  W* weights;
  const G* gradient;
  const float* factor;
  float* m;
  float* v;
  AdamWFactors factors;

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
    if constexpr (!std::is_same_v<W, float>) store<n>(weights + i, p);
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
      pointwise<std::max(wide<G>, wide<W>)>(stream, n, allowed,
                                            Update<G, W>{p, copy, g, clip, first, second, factors});
    });
  });
}

}  // namespace triax::cuda
