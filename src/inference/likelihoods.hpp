// SPDX-License-Identifier: Apache-2.0
#pragma once
// Log-likelihoods of labels, in batches of sequences that share one forward pass.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/device/mirror.hpp"
#include "src/inference/grid_model.hpp"

namespace triax {

/// labels[p] is to follow inputs[0..p]; a negative one is not scored. Both have one length, from 1
/// to GridModel::context().
struct LabelledSequence {
  std::span<const std::int32_t> inputs, labels;
};

/// Sequences that share a forward pass, each padded to `length` tokens.
struct LikelihoodBatch {
  std::int64_t length = 0;
  std::vector<std::size_t> sequences;  // indices
};

/// Batches of at most `rows` tokens with their padding, or of one sequence, by falling length. They
/// depend on the lengths alone, so that a sequence gets the same bits wherever its batch runs.
std::vector<LikelihoodBatch> likelihood_batches(std::span<const LabelledSequence> sequences,
                                                std::int64_t rows, std::int64_t context);

class Likelihoods {
 public:
  /// `model` outlives the object. `rows`: most tokens per forward pass.
  Likelihoods(GridModel& model, std::int64_t rows) : model_(model), rows_(rows) {}

  /// For each sequence the sum of its labels' log-likelihoods in nats: on tensor rank 0 of the last
  /// stage; zeros on other ranks. Not finite where the weights are not. Collective over the
  /// pipeline and tensor ranks of a data rank.
  std::vector<double> of(std::span<const LabelledSequence> sequences);

 private:
  using Sequences = std::span<const LabelledSequence>;
  void reserve(const LikelihoodBatch& batch, Sequences sequences);
  void fill(const LikelihoodBatch& batch, Sequences sequences);
  Context context(const BatchShape& shape, Arena& scratch) const;
  void run(const LikelihoodBatch& batch, Sequences sequences, std::span<double> sums);
  void classify(const LikelihoodBatch& batch, Sequences sequences, const Tensor& x,
                const ForwardSpace& space, Arena& scratch) const;
  // Tokens (0) or labels (1) of the batch: (held_) int32.
  Tensor row(const Memory& memory, int which) const {
    return memory.tensor(DType::i32, {2, held_}).slice(0, which, 1).flat();
  }

  GridModel& model_;
  std::int64_t rows_;
  std::int64_t held_ = 0;          // tokens that numbers_ has
  Buffer workspace_;               // activations, frame and scratch
  std::optional<Mirror> numbers_;  // tokens, then labels: (2, held_) int32
  std::optional<Mirror> losses_;   // sums of the sequences' losses: float64
};

}  // namespace triax
