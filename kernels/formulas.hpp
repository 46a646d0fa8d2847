#pragma once
// The arithmetic of one element or row where the host's loops and the device's kernels share it.
// Exponentials are handed in: each side has its own. V is float, or on the host a vector of floats.
#include <cmath>
#include <cstdint>
#include <numbers>

#include "kernels/adamw.hpp"
#include "kernels/base/host_device.hpp"

namespace triax {

// GELU: 0.5 x (1 + tanh u) with u = slope (x + cubic x^3) is x sigmoid(2 u): one exponential, and
// no cancellation where x is negative. 2 u = x (linear + cubic x^2).
inline constexpr float gelu_linear = 2.0F * 0.7978845608028654F;  // 2 sqrt(2 / pi)
inline constexpr float gelu_cubic = 0.044715F * gelu_linear;

template <class V>
struct GeluSigmoid {
  V value;
  V derivative;
};

/// 2 u of x.
template <class V>
constexpr V gelu_argument(V x) {
  return x * (gelu_linear + gelu_cubic * (x * x));
}

/// From e = exp(-2 u), which may be infinite, and value = 1 / (1 + e).
template <class V>
constexpr GeluSigmoid<V> gelu_sigmoid(V e, V value) {
  const V one = V{} + 1.0F;
  const V rest = e * value;  // 1 - value, without cancellation; NaN where e is infinite
  return {value, value * (rest < one ? rest : one)};
}

template <class V>
constexpr GeluSigmoid<V> gelu_sigmoid(V e) {
  const V one = V{} + 1.0F;
  return gelu_sigmoid(e, one / (one + e));
}

/// The derivative of 2 u.
template <class V>
constexpr V gelu_argument_slope(V x) {
  return gelu_linear + 3.0F * gelu_cubic * (x * x);
}

/// The sigmoid of x, from e = exp(-x), which may be infinite.
template <class V>
constexpr V sigmoid_from(V e) {
  return 1.0F / (1.0F + e);
}

/// 1 / sqrt(mean_square + epsilon), by which a norm scales a row. NaN where the square is infinite:
/// of a row so large that it overflows, zeros would come, and nobody would notice.
TRIAX_HOST_DEVICE inline float norm_scale(float mean_square, float epsilon) {
  return 1.0F / std::sqrt(mean_square + epsilon + (mean_square - mean_square));
}

/// All of an AdamW step that does not depend on the element, rounded to float once.
struct AdamWFactors {
  explicit AdamWFactors(const AdamWOptions& o)
      : keep1(static_cast<float>(o.beta1)),
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

  float keep1, take1, keep2, take2, rate, unbias2, epsilon, decay;
};

/// The step of one element from its clipped gradient: p, m and v in place.
TRIAX_HOST_DEVICE inline void adamw_update(const AdamWFactors& f, float g, float& p, float& m,
                                           float& v) {
  m = f.keep1 * m + f.take1 * g;
  v = f.keep2 * v + f.take2 * (g * g);
  p -= f.decay * p + f.rate * m / (std::sqrt(v * f.unbias2) + f.epsilon);
}

/// The logarithm of the sum of a row's exponentials, from `sum`, which is relative to the largest.
TRIAX_HOST_DEVICE inline double log_sum_exp(double largest, double sum) {
  return largest + std::log(sum);
}

/// The softmax statistics of one row of logits from those of its shards.
struct MergedRow {
  double lse;
  double label_logit;
};

/// stats: {maximum, sum of exponentials, logit of the label} of shard s at stats + s *
/// shard_stride.
TRIAX_HOST_DEVICE inline MergedRow merge_shards(const float* stats, std::int64_t shards,
                                                std::int64_t shard_stride) {
  double largest = -static_cast<double>(INFINITY);
  for (std::int64_t s = 0; s < shards; ++s) {
    const double maximum = static_cast<double>(stats[s * shard_stride]);
    largest = maximum > largest ? maximum : largest;
  }
  double total = 0.0;
  double label_logit = 0.0;
  for (std::int64_t s = 0; s < shards; ++s) {
    const float* shard = stats + s * shard_stride;
    // A shard without real columns has no maximum; every other one has a sum of at least 1, or NaN.
    if (shard[1] != 0.0F)
      total += static_cast<double>(shard[1]) * std::exp(static_cast<double>(shard[0]) - largest);
    label_logit += static_cast<double>(shard[2]);
  }
  return {log_sum_exp(largest, total), label_logit};
}

/// Two normal numbers from two words (Box and Muller 1958).
struct NormalPair {
  double cosine;
  double sine;
};

TRIAX_HOST_DEVICE inline NormalPair box_muller(std::uint32_t a, std::uint32_t b) {
  const double u = (static_cast<double>(a) + 0.5) * 0x1p-32;  // in (0, 1): the logarithm is finite
  const double angle = static_cast<double>(b) * (0x1p-32 * 2.0 * std::numbers::pi);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace triax
