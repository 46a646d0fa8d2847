// SPDX-License-Identifier: Apache-2.0
#pragma once
// A low-rank adapter (LoRA, Hu et al. 2021) of one named linear map: y += scale drop(x) A^T B^T.
// A (r, inputs) and B (outputs, r) are parameters of Hugging Face PEFT's names and shapes. With
// LoraConfig::dora there is a third one, the magnitudes of the outputs (decomposition.hpp).
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/model/linear.hpp"

namespace triax {

/// Name of the module of a linear map's weight: "model.layers.0.self_attn.q_proj".
std::string module_of(const std::string& weight);

/// On the tensor axis A is whole and B is cut by outputs where the map is column-parallel; A is cut
/// by inputs and B is whole where it is row-parallel, and y is then a partial sum as the map's own.
/// No call sends a message: gradients of the whole ones are partial sums (Piece::partial).
class LowRank {
 public:
  /// Adapter of the outputs from column `at` on, which `parts` supply: tensors of one module, side
  /// by side.
  static LowRank column(const LoraConfig& lora, const std::string& label, std::int64_t inputs,
                        const std::vector<LinearPart>& parts, std::int64_t at,
                        const TensorShard& shard);
  /// Adapter of a row-parallel map, whose `outputs` are whole on each rank.
  static LowRank row(const LoraConfig& lora, const std::string& label, const LinearPart& part,
                     std::int64_t outputs, const TensorShard& shard);

  /// A, then B, then the magnitudes if there are any.
  const std::vector<ParameterSpec>& params() const { return params_; }
  /// Most that one call takes from the scratch arena.
  std::size_t scratch_bytes(const BatchShape& shape) const;

  /// Adds the adapter's share to y (rows, outputs of the map). x: (rows, inputs), contiguous.
  /// Dropout acts in training only.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y) const;
  /// Adds the gradient of x to dx (rows, inputs), contiguous.
  void backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                      const Tensor& dx) const;
  /// Gradients of A and B; frozen ones are left out.
  void backward_weight(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                       const Tensor& x, const Tensor& dy) const;

  bool drops(const Context& ctx) const { return ctx.training && dropout_ > 0.0F; }
  /// y = the mask of this step on x; y may be x.
  void drop(const Context& ctx, const Tensor& y, const Tensor& x) const;
  /// x with dropout, in scratch; x itself without.
  Tensor dropped(const Context& ctx, const Tensor& x) const;
  /// The columns of its module among all outputs of the map.
  Tensor own_outputs(const Tensor& y) const { return y.slice(1, at_, outputs_); }
  std::int64_t first_output() const { return at_; }
  std::int64_t outputs() const { return outputs_; }
  float factor() const { return scale_; }  // of B A

 private:
  LowRank(const LoraConfig& lora, std::string module);
  Tensor narrow(const Context& ctx) const;  // (rows, r) of scratch
  Tensor added(const Context& ctx) const;   // (rows, outputs) of scratch, for packed rows
  void forward_rows(const Context& ctx, const Tensor* weights, const Tensor& x,
                    const Tensor& y) const;

  std::string module_;
  std::int64_t rank_;
  float scale_, dropout_;
  std::int64_t at_ = 0, outputs_ = 0;         // columns of the map's output
  std::int64_t inputs_ = 0;                   // on this rank
  std::int64_t first_input_ = 0, width_ = 0;  // of the global inputs, for dropout masks
  std::vector<ParameterSpec> params_;
};

}  // namespace triax
