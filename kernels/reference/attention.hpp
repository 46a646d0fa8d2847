// SPDX-License-Identifier: Apache-2.0
#pragma once
// Causal attention in plain loops and double precision: the oracle of
// kernels/attention/attention.hpp.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace triax::reference {

using Values = std::vector<double>;

/// Row-major q, out (B, T, H, D), k, v (B, T, Hkv, D), lse (B, H, T), keep (B, H, T, T).
struct AttentionSizes {
  std::int64_t B = 0, T = 0, H = 0, Hkv = 0, D = 0;
  std::size_t query(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return std::size_t(((b * T + t) * H + h) * D);
  }
  std::size_t key(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return std::size_t(((b * T + t) * Hkv + h / (H / Hkv)) * D);
  }
  std::size_t row(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return std::size_t((b * H + h) * T + t);
  }
};

/// Sliding window and soft cap of AttentionOptions (0: none), and its positions in documents, (B T)
/// numbers (none: every sequence is one document).
struct AttentionLimits {
  std::int64_t window = 0;
  double soft_cap = 0.0;
  std::vector<std::int64_t> positions = {};

  /// The first key that query i of a sequence sees, whose first token is token `begin` of all.
  std::int64_t first_key(std::int64_t i, std::int64_t begin = 0) const {
    const std::int64_t document = positions.empty() ? 0 : i - positions[std::size_t(begin + i)];
    return window == 0 ? document : std::max(i - window + 1, document);
  }
  double capped(double score) const {
    return soft_cap == 0.0 ? score : soft_cap * std::tanh(score / soft_cap);
  }
  /// Derivative of capped().
  double slope(double score) const {
    if (soft_cap == 0.0) return 1.0;
    const double cosine = std::cosh(score / soft_cap);
    return 1.0 / (cosine * cosine);
  }
};

struct AttentionResult {
  Values out, lse;
};
struct AttentionGradients {
  Values dq, dk, dv;
};

inline double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Multiplier of a probability: 0 or 1 / (1 - p) with dropout, 1 if `keep` is empty.
inline double kept(const Values& keep, const AttentionSizes& n, std::size_t row, std::int64_t j) {
  return keep.empty() ? 1.0
                      : keep[row * static_cast<std::size_t>(n.T) + static_cast<std::size_t>(j)];
}

/// out = keep * softmax(cap(scale q k^T) + causal mask or window) v, and the log-sum-exp of each
/// row.
inline AttentionResult attention_forward(const AttentionSizes& n, const Values& q, const Values& k,
                                         const Values& v, double scale, const Values& keep,
                                         const AttentionLimits& limits = {}) {
  AttentionResult result{Values(q.size()), Values(std::size_t(n.B * n.H * n.T))};
  for (std::int64_t b = 0; b < n.B; ++b)
    for (std::int64_t h = 0; h < n.H; ++h)
      for (std::int64_t i = 0; i < n.T; ++i) {
        const std::size_t row = n.row(b, h, i);
        const std::int64_t first = limits.first_key(i, b * n.T);
        Values score;
        for (std::int64_t j = first; j <= i; ++j)
          score.push_back(
              limits.capped(scale * dot(&q[n.query(b, i, h)], &k[n.key(b, j, h)], n.D)));
        const double largest = *std::max_element(score.begin(), score.end());
        double sum = 0;
        for (double s : score) sum += std::exp(s - largest);
        const double lse = result.lse[row] = largest + std::log(sum);
        for (std::int64_t j = first; j <= i; ++j) {
          const double p = std::exp(score[std::size_t(j - first)] - lse) * kept(keep, n, row, j);
          for (std::int64_t d = 0; d < n.D; ++d)
            result.out[n.query(b, i, h) + std::size_t(d)] += p * v[n.key(b, j, h) + std::size_t(d)];
        }
      }
  return result;
}

/// Gradients of sum(dout * out).
inline AttentionGradients attention_backward(const AttentionSizes& n, const Values& dout,
                                             const AttentionResult& saved, const Values& q,
                                             const Values& k, const Values& v, double scale,
                                             const Values& keep,
                                             const AttentionLimits& limits = {}) {
  AttentionGradients g{Values(q.size()), Values(k.size()), Values(v.size())};
  for (std::int64_t b = 0; b < n.B; ++b)
    for (std::int64_t h = 0; h < n.H; ++h)
      for (std::int64_t i = 0; i < n.T; ++i) {
        const std::size_t row = n.row(b, h, i);
        const std::size_t at_q = n.query(b, i, h);
        const double delta = dot(&dout[at_q], &saved.out[at_q], n.D);
        for (std::int64_t j = limits.first_key(i, b * n.T); j <= i; ++j) {
          const std::size_t at_k = n.key(b, j, h);
          const double score = scale * dot(&q[at_q], &k[at_k], n.D);
          const double p = std::exp(limits.capped(score) - saved.lse[row]);
          const double m = kept(keep, n, row, j);
          const double ds =
              scale * limits.slope(score) * p * (m * dot(&dout[at_q], &v[at_k], n.D) - delta);
          for (std::size_t d = 0; d < static_cast<std::size_t>(n.D); ++d) {
            g.dq[at_q + d] += ds * k[at_k + d];
            g.dk[at_k + d] += ds * q[at_q + d];
            g.dv[at_k + d] += p * m * dout[at_q + d];
          }
        }
      }
  return g;
}

}  // namespace triax::reference
