// SPDX-License-Identifier: Apache-2.0
#pragma once
// A linear map with the low-rank adapters of its modules: a wrapper with Linear's interface, chosen
// when a layer is built. Without adapters it is the map itself, bit for bit.
#include <memory>
#include <string>
#include <vector>

#include "src/model/adapter/decomposition.hpp"
#include "src/model/adapter/low_rank.hpp"
#include "src/model/linear.hpp"

namespace triax {

class AdaptedLinear {
 public:
  /// `decomposition`: of the same base and adapters, which then have magnitudes; null: they have
  /// none.
  explicit AdaptedLinear(std::shared_ptr<const LinearMap> base, std::vector<LowRank> adapters = {},
                         std::shared_ptr<const Decomposition> decomposition = {});

  /// The base's parameters, then those of each adapter.
  const std::vector<ParameterSpec>& params() const { return params_; }
  const LinearMap& base() const { return *base_; }
  const std::vector<LowRank>& adapters() const { return adapters_; }
  bool has_bias() const { return base_->has_bias(); }
  std::int64_t inputs() const { return base_->inputs(); }    // on this rank
  std::int64_t outputs() const { return base_->outputs(); }  // on this rank
  /// Most that one call takes from the scratch arena.
  std::size_t scratch_bytes(const BatchShape& shape) const;

  /// Norms of its weights in a frame, which forward fills and the backward calls read; empty
  /// without magnitudes.
  Tensor carve_norms(Arena& frame) const;
  /// Messages of the forward pass: sums of norms.
  Messages norm_messages(const TensorShard& shard) const;

  /// Linear::forward of the sum of base and adapters.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y,
               const Tensor& hidden = {}, const Tensor& norms = {}) const;
  /// Linear::backward_input of the sum.
  void backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy, const Tensor& dx,
                      const GeluGradient& gelu = {}, const Tensor& norms = {}) const;
  /// Gradients of the parameters. Frozen ones are left out.
  void backward_weight(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                       const Tensor& x, const Tensor& dy, const Tensor& norms = {}) const;
  /// backward_input and backward_weight of a column-parallel map whose input is gathered, and the
  /// sum of dx over the tensor ranks (reduce_rows, into `local`). dx is computed while x arrives,
  /// the weights' gradients while dx is summed. The forward pass needs each message at once, so it
  /// hides none.
  ComingRows backward_between_messages(const Context& ctx, const Tensor* weights,
                                       const Gradient* gradients, ComingRows x, const Tensor& dy,
                                       const Tensor& dx, const Tensor& local,
                                       const Tensor& norms = {}) const;

 private:
  std::size_t at(std::size_t adapter) const { return base_->params().size() + 2 * adapter; }

  std::shared_ptr<const LinearMap> base_;
  std::vector<LowRank> adapters_;
  std::shared_ptr<const Decomposition> decomposition_;
  std::vector<ParameterSpec> params_;
};

/// The column-parallel map of `parts` with the adapters that the model has for their modules.
AdaptedLinear adapt_column(const LoraConfig& lora, const std::string& label,
                           std::shared_ptr<const LinearMap> map,
                           const std::vector<LinearPart>& parts, const TensorShard& shard);
/// The row-parallel map of `part` with the adapter that the model has for its module.
AdaptedLinear adapt_row(const LoraConfig& lora, const std::string& label,
                        std::shared_ptr<const LinearMap> map, const LinearPart& part,
                        const TensorShard& shard);

}  // namespace triax
