// SPDX-License-Identifier: Apache-2.0
#pragma once
// A frozen linear map whose weight stays in the bits of its files. Its products decode it tile by
// tile; the whole matrix never exists. On the host.
#include <memory>

#include "src/config/config.hpp"
#include "src/model/linear.hpp"
#include "src/model/linear_map.hpp"
#include "src/model/quantized/packed_weight.hpp"

namespace triax {

class QuantizedLinear : public LinearMap {
 public:
  /// The map that `plain` is, kept as `kept` says. UsageError where its shard cuts groups.
  QuantizedLinear(const Linear& plain, WeightOrder order, const KeptBits& kept);

  const std::vector<ParameterSpec>& params() const override { return params_; }
  std::int64_t inputs() const override { return inputs_; }
  std::int64_t outputs() const override { return outputs_; }
  std::size_t scratch_bytes(const BatchShape& shape) const override;

  void forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y,
               const Tensor& hidden) const override;
  void backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy, const Tensor& dx,
                      const GeluGradient& gelu) const override;
  /// Nothing: it is frozen.
  void backward_weight(const Context&, const Gradient*, const Tensor&,
                       const Tensor&) const override {}
  void add_squares(const Context& ctx, const Tensor* weights, const LowRankSum& sum,
                   const Tensor& squares) const override;
  std::size_t squares_scratch_bytes() const override;

 private:
  struct Scratch;
  const PackedWeight& weight() const { return *params_.front().packed; }

  bool bias_here_;
  std::int64_t inputs_, outputs_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax
