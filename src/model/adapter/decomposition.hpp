// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adapters whose outputs have magnitudes (DoRA, Liu et al. 2024, as PEFT computes it): an output of
// a module is m / n times that of V = W + scale B A, where n is the norm of its row of V. n has no
// gradient. With dropout the base's own product keeps its input: y = W x - W d + m / n V d, d being
// x after dropout.
#include <memory>
#include <vector>

#include "src/model/adapter/low_rank.hpp"
#include "src/model/linear_map.hpp"

namespace triax {

class Decomposition {
 public:
  /// `row_parallel`: the map's inputs are cut, and norms are summed over the tensor ranks.
  Decomposition(std::shared_ptr<const LinearMap> base, std::vector<LowRank> adapters,
                bool row_parallel);

  /// Norms of one call, (outputs of all adapters) float32: from the forward pass to the backward.
  Tensor take_norms(Arena& arena) const;
  /// Messages of the forward pass.
  Messages messages(int tensor_size) const;
  std::size_t scratch_bytes(const BatchShape& shape) const;

  // AdaptedLinear's calls. `weights`, `gradients`: of the base, then of each adapter.

  /// y = the sum. Fills `norms`.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y,
               const Tensor& norms) const;
  void backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy, const Tensor& dx,
                      const Tensor& norms) const;
  /// Gradients of the adapters alone: the base is frozen.
  void backward_weight(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                       const Tensor& x, const Tensor& dy, const Tensor& norms) const;

 private:
  // One adapter in a call.
  struct Module {
    const LowRank& adapter;
    const Tensor* weights;  // A, B, magnitudes
    Tensor norms, bias;     // of its outputs; no bias where the map adds none
  };
  std::size_t at(std::size_t adapter) const { return base_->params().size() + 3 * adapter; }
  Module module(const Tensor* weights, const Tensor& norms, std::size_t adapter) const;
  void measure_norms(const Context& ctx, const Tensor* weights, const Module& of) const;
  // (outputs) of scratch: m / n - less.
  Tensor factors(const Context& ctx, const Module& of, float less = 0.0F) const;
  Tensor take_outputs(const Context& ctx) const;  // (rows, outputs) of scratch
  void add_dropped(const Context& ctx, const Tensor* weights, const Module& of, const Tensor& x,
                   const Tensor& y) const;
  void add_dropped_input(const Context& ctx, const Tensor* weights, const Module& of,
                         const Tensor& dy, const Tensor& dx) const;

  std::shared_ptr<const LinearMap> base_;
  std::vector<LowRank> adapters_;
  bool row_parallel_;
  std::int64_t outputs_ = 0;  // of all adapters
};

}  // namespace triax
