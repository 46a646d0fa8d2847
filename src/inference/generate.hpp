// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text from a checkpoint, one token at a time, on one rank.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/device/mirror.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/model/stage.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

struct SamplingOptions {
  std::int64_t max_tokens = 200;
  double temperature = 1.0;  // 0: greedy
  int top_k = 0;             // 0: all tokens
  std::uint64_t seed = 1234;
  std::int32_t tokens = 0;  // draw from the first so many tokens of the vocabulary only; 0: all
};

/// The token to take next from logits (V): the largest where temperature is 0 or top_k 1, else
/// drawn from softmax(logits / temperature) over the top_k largest. `uniform` in [0, 1) decides.
/// Ties go to the lower token.
std::int32_t choose_token(const std::vector<float>& logits, const SamplingOptions& options,
                          double uniform);

/// The sequence length that a checkpoint's weights were trained with: its job's, or all positions
/// of a model that comes from elsewhere.
std::int64_t trained_length(const CheckpointHeader& header);

/// A model for inference: weights, the keys and values of a text of context() tokens, and nothing
/// else of a run.
class Generator {
 public:
  /// `context`: the longest sequence it will see. `space`: where it computes; none: on a GPU where
  /// there is one.
  Generator(const CheckpointReader& checkpoint, std::int64_t context,
            std::optional<MemorySpace> space = std::nullopt);
  ~Generator();

  const ModelConfig& model() const { return model_; }
  std::int64_t context() const { return context_; }
  /// Logits (V) of the token after `tokens`, which are at least one and at most context(). All of
  /// them are computed, together: the same bits whatever was asked for before.
  const std::vector<float>& logits(const std::vector<std::int32_t>& tokens);
  /// Logits of the token after the text of the last call and `token`: those of logits() but for
  /// rounding. Only `token` is computed, and attends to the keys and values that are kept of the
  /// others, so that it costs about one pass over the weights. Where context() tokens are full, the
  /// first one leaves and every other moves to another position: then all are computed anew.
  const std::vector<float>& logits_after(std::int32_t token);
  /// Continues `tokens`; `emit` sees each new token as it is chosen. The model sees the last
  /// context() tokens.
  void generate(std::vector<std::int32_t> tokens, const SamplingOptions& options,
                const std::function<void(std::int32_t)>& emit);

 private:
  // Logits after text_; the first `past` of its tokens are in the cache.
  const std::vector<float>& logits_of_text(std::int64_t past);

  ModelConfig model_;
  std::int64_t context_;
  ProcessGrid grid_;  // of this process alone
  Stream stream_;
  Stage stage_;
  ParameterStore store_;
  Buffer memory_;              // activations, frame and scratch
  Buffer cache_;               // Context::cache of each block, context_ positions
  Mirror input_;               // tokens: (context) int32
  Mirror output_;              // logits: (V) float32
  std::vector<float> logits_;  // (V)
  std::vector<std::int32_t> text_;
};

}  // namespace triax
