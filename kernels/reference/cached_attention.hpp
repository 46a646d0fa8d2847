// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention of the last queries over all keys in plain loops and double precision: the oracle of
// kernels/attention/cached_attention.hpp.
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/reference/attention.hpp"

namespace triax::reference {

/// Row-major. q, out: (B, T, H, D), for the last T of n positions; k, v: (B, n, Hkv, D).
struct CachedAttentionSizes {
  std::int64_t B = 0, T = 0, n = 0, H = 0, Hkv = 0, D = 0;
  std::size_t query(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return std::size_t(((b * T + t) * H + h) * D);
  }
  std::size_t key(std::int64_t b, std::int64_t j, std::int64_t h) const {
    return std::size_t(((b * n + j) * Hkv + h / (H / Hkv)) * D);
  }
};

/// softmax(cap(scale q k^T) + causal mask or window) v, without subtracting the maximum: scores
/// must be small.
inline std::vector<double> cached_attention(const CachedAttentionSizes& n,
                                            const std::vector<double>& q,
                                            const std::vector<double>& k,
                                            const std::vector<double>& v, double scale,
                                            const AttentionLimits& limits = {}) {
  const auto width = static_cast<std::size_t>(n.D);
  std::vector<double> out(q.size());
  for (std::int64_t b = 0; b < n.B; ++b)
    for (std::int64_t t = 0; t < n.T; ++t)
      for (std::int64_t h = 0; h < n.H; ++h) {
        const std::size_t row = n.query(b, t, h);
        double total = 0;
        const std::int64_t own = n.n - n.T + t;
        for (std::int64_t j = limits.first_key(own); j <= own; ++j) {
          const std::size_t at = n.key(b, j, h);
          double score = 0;
          for (std::size_t d = 0; d < width; ++d) score += q[row + d] * k[at + d];
          const double p = std::exp(limits.capped(scale * score));
          total += p;
          for (std::size_t d = 0; d < width; ++d) out[row + d] += p * v[at + d];
        }
        for (std::size_t d = 0; d < width; ++d) out[row + d] /= total;
      }
  return out;
}

}  // namespace triax::reference
