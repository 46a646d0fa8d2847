// SPDX-License-Identifier: Apache-2.0
#pragma once
// Muon (Jordan et al. 2024), as torch.optim.Muon, on a flat range of matrices: all of its step but
// the orthogonalisation, which takes whole matrices (orthogonalize.hpp).
#include <limits>
#include <optional>

#include "kernels/base/device/device.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax {

/// Options of one step. clip_value and stochastic: as in AdamWOptions.
struct MuonOptions {
  double learning_rate = 1e-3;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.0;  // decoupled
  double clip_value = std::numeric_limits<double>::infinity();
  std::optional<ElementNumbers> stochastic = {};
};

/// First half. direction, momentum: (n) float32; gradient and factor as in adamw().
///   g = clipped(factor * gradient);  m += (1 - momentum) * (g - m)
///   direction = m, or g + momentum * (m - g) with nesterov
/// A factor that is NaN changes nothing.
void muon_momentum(const Stream& stream, const Tensor& direction, const Tensor& gradient,
                   const Tensor& factor, const Tensor& momentum, const MuonOptions& options);

/// Second half, with the orthogonal direction: p -= lr * (weight_decay * p + direction). parameter,
/// weights and factor are as in adamw().
void muon_step(const Stream& stream, const Tensor& parameter, const Tensor& weights,
               const Tensor& direction, const Tensor& factor, const MuonOptions& options);

/// x /= max(sqrt(squares), epsilon). x: (n) float32; squares: (1) float64, both in the stream's
/// memory, so that nothing waits for the stream.
void divide_by_norm(const Stream& stream, const Tensor& x, const Tensor& squares, double epsilon);

}  // namespace triax
