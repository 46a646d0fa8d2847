// SPDX-License-Identifier: Apache-2.0
#pragma once
// A linear map sharded over the tensor axis as in Megatron-LM (Shoeybi et al. 2019):
// column-parallel (each rank has some outputs) or row-parallel (each rank has some inputs; outputs
// are partial sums).
#include <string>
#include <vector>

#include "src/model/families/block_spec.hpp"
#include "src/model/linear_map.hpp"

namespace triax {

/// One named tensor that supplies some outputs of a column-parallel map, or the whole of a
/// row-parallel map.
struct LinearPart {
  std::string weight, bias;   // names; bias empty: none
  std::int64_t features;      // global outputs (column) or inputs (row) of the named tensor
  std::int64_t begin, count;  // range of them on this rank
  std::int64_t offset = 0;  // of these features in the named tensor (GPT-2's q, k and v share one)
  int copies = 1;           // tensor ranks with the same range (key/value heads)
  bool owner = true;
  std::int64_t most = 0;  // features on the tensor rank with the most; 0: the same on all
  std::int64_t room() const { return most > 0 ? most : count; }
};

class Linear : public LinearMap {
 public:
  /// Outputs are those of `parts` in order; `inputs` is the global input size, whole on each rank.
  static Linear column(const std::string& label, WeightOrder order, std::int64_t inputs,
                       std::vector<LinearPart> parts, float deviation);
  /// One part; `outputs` is whole on each rank. The bias is not added here but after the sum over
  /// ranks.
  static Linear row(const std::string& label, WeightOrder order, const LinearPart& part,
                    std::int64_t outputs, const TensorShard& shard, float deviation);

  const std::vector<ParameterSpec>& params() const override { return params_; }
  std::int64_t inputs() const override { return inputs_; }
  std::int64_t outputs() const override { return outputs_; }
  /// Whether forward() adds the bias: that of a column-parallel map.
  bool adds_bias() const { return bias_here_; }
  std::size_t scratch_bytes(const BatchShape& shape) const override;

  void forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y,
               const Tensor& hidden = {}) const override;
  void backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy, const Tensor& dx,
                      const GeluGradient& gelu = {}) const override;
  void backward_weight(const Context& ctx, const Gradient* gradients, const Tensor& x,
                       const Tensor& dy) const override;
  void add_squares(const Context& ctx, const Tensor* weights, const LowRankSum& sum,
                   const Tensor& squares) const override;
  std::size_t squares_scratch_bytes() const override;

 private:
  WeightOrder order_ = WeightOrder::output_input;
  bool bias_here_ = false;  // column-parallel map with a bias
  std::int64_t inputs_ = 0, outputs_ = 0;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax
