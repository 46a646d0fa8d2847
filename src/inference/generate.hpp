// SPDX-License-Identifier: Apache-2.0
#pragma once
// Logits after one text, token by token, on one rank or the ranks of a grid.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/device/mirror.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/inference/grid_model.hpp"

namespace triax {

/// A model for inference with a KV cache of context() tokens. On a grid all ranks of a data rank
/// make the same calls and get the same logits.
class Generator {
 public:
  /// This process alone. `context`: longest sequence in tokens, at most longest_sequence() of the
  /// model. `space`: where it computes; nothing: on a GPU if there is one. UsageError if the file
  /// has no such weights.
  Generator(const CheckpointReader& checkpoint, std::int64_t context,
            std::optional<MemorySpace> space = std::nullopt,
            SavedWeights weights = SavedWeights::trained);
  /// `model` outlives the generator.
  explicit Generator(GridModel& model);
  ~Generator();

  const ModelConfig& model() const { return model_.model(); }
  std::int64_t context() const { return model_.context(); }
  /// Logits (V) of the token after `tokens` (1 to context() tokens). All tokens are computed
  /// together, so the result does not depend on earlier calls, bit for bit.
  const std::vector<float>& logits(const std::vector<std::int32_t>& tokens);
  /// Appends `token` to the text of the last call and returns the logits (V) after it, equal to
  /// logits() up to rounding. Only `token` is computed, with the KV cache of the others: about one
  /// pass over the weights. Beyond context() tokens the first token is dropped, all others change
  /// position, and all are computed again.
  const std::vector<float>& logits_after(std::int32_t token);

 private:
  struct OwnModel;
  explicit Generator(std::unique_ptr<OwnModel> own);
  // Logits after text_; the first `past` of its tokens are in the cache.
  const std::vector<float>& logits_of_text(std::int64_t past);
  void run_layers(Context& ctx, ForwardSpace& space);
  void share_logits(const Context& ctx, const Tensor& x);

  std::unique_ptr<OwnModel> own_;  // null: the model is the caller's
  GridModel& model_;
  Buffer memory_;              // activations, frame and scratch
  Buffer cache_;               // KV cache: Context::cache of each block, context() positions
  Mirror input_;               // tokens: (context) int32
  Mirror output_;              // logits: (V, padded) float32
  std::vector<float> logits_;  // (V)
  std::vector<std::int32_t> text_;
};

}  // namespace triax
