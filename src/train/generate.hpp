#pragma once
// Text from a checkpoint, one token at a time, on one rank.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint_file.hpp"
#include "kernels/base/mirror.hpp"
#include "src/comm/process_grid.hpp"
#include "src/model/stage.hpp"
#include "src/state/parameter_store.hpp"

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

/// A model for inference: weights and nothing else of a run.
class Generator {
 public:
  /// `context`: the longest sequence it will see. `space`: where it computes; none: on a GPU where
  /// there is one.
  Generator(const CheckpointReader& checkpoint, std::int64_t context,
            std::optional<MemorySpace> space = std::nullopt);
  ~Generator();

  const ModelConfig& model() const { return model_; }
  std::int64_t context() const { return context_; }
  /// Logits (V) of the token after `tokens`, which are at least one and at most context().
  const std::vector<float>& logits(const std::vector<std::int32_t>& tokens);
  /// Continues `tokens`; `emit` sees each new token as it is chosen. The model sees the last
  /// context() tokens.
  void generate(std::vector<std::int32_t> tokens, const SamplingOptions& options,
                const std::function<void(std::int32_t)>& emit);

 private:
  ModelConfig model_;
  std::int64_t context_;
  ProcessGrid grid_;  // of this process alone
  Stream stream_;
  Stage stage_;
  ParameterStore store_;
  BatchShape shape_;
  Buffer memory_;              // activations, frame and scratch
  Mirror input_;               // tokens: (context) int32
  Mirror output_;              // logits: (V) float32
  std::vector<float> logits_;  // (V)
};

}  // namespace triax
