#include "kernels/adamw.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"

namespace triax {
namespace {

constexpr std::int64_t block = 8192;  // elements of a parallel task

// All that does not depend on the element, rounded to float once.
struct Factors {
  explicit Factors(const AdamWOptions& o)
      : scale(o.gradient_scale),
        keep1(static_cast<float>(o.beta1)),
        take1(static_cast<float>(1.0 - o.beta1)),
        keep2(static_cast<float>(o.beta2)),
        take2(static_cast<float>(1.0 - o.beta2)),
        rate(static_cast<float>(o.learning_rate / correction(o.beta1, o.step))),
        unbias2(static_cast<float>(1.0 / correction(o.beta2, o.step))),
        epsilon(static_cast<float>(o.epsilon)),
        decay(static_cast<float>(o.learning_rate * o.weight_decay)) {}

  static double correction(double beta, std::int64_t step) {
    return 1.0 - std::pow(beta, static_cast<double>(step));
  }

  float scale, keep1, take1, keep2, take2, rate, unbias2, epsilon, decay;
};

}  // namespace

void adamw(const Stream&, const Tensor& parameter, const Tensor& weights, const Tensor& gradient,
           const Tensor& m, const Tensor& v, const AdamWOptions& options) {
  check(options.step >= 1, "AdamW step {}: steps count from 1", options.step);
  check(weights.empty() || weights.dtype() != DType::f32, "a copy of the weights in float32");
  const std::int64_t n = parameter.elements();
  float* p = elements_of(parameter, n, "parameter");
  float* first = elements_of(m, n, "m");
  float* second = elements_of(v, n, "v");
  const Factors f(options);
  const auto update = [=](const auto* g, auto* copy) {
    using Copy = std::remove_pointer_t<decltype(copy)>;
    parallel_for_blocks(n, block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) {
        const float grad = f.scale * g[i];
        const float mean = f.keep1 * first[i] + f.take1 * grad;
        const float square = f.keep2 * second[i] + f.take2 * (grad * grad);
        first[i] = mean;
        second[i] = square;
        const float step = f.rate * mean / (std::sqrt(square * f.unbias2) + f.epsilon);
        const float stepped = p[i] - (f.decay * p[i] + step);
        p[i] = stepped;
        if constexpr (!std::is_same_v<Copy, float>) copy[i] = stepped;
      }
    });
  };
  with_type(gradient.dtype(), [&]<class G>(Type<G>) {
    const G* g = elements_of<G>(gradient, n, "gradient");
    if (weights.empty()) return update(g, static_cast<float*>(nullptr));
    with_type(weights.dtype(),
              [&]<class W>(Type<W>) { update(g, elements_of<W>(weights, n, "weights")); });
  });
}

}  // namespace triax
