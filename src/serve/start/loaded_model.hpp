// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model with its weights, ready to answer.
#include <functional>
#include <optional>
#include <string>

#include "src/checkpoint/checkpoint.hpp"
#include "src/inference/constraint/constraint.hpp"
#include "src/inference/engine/engine.hpp"
#include "src/inference/engine/engine_options.hpp"
#include "src/inference/grid_model.hpp"
#include "src/serve/api/generation_options.hpp"
#include "src/serve/start/serve_settings.hpp"
#include "src/text/files/file_set.hpp"

namespace triax {

/// Sampling of generation_config.json among a model's files: where a request says nothing.
/// UsageError where it is not JSON.
TokenChoice default_choice(const TokenizerFiles& files);

class LoadedModel {
 public:
  /// Reads the checkpoint or directory `path` on all ranks of `grid`. `tokenizer`: another one than
  /// the model's; empty: the model's. `weights`: as --weights. Collective; all ranks throw.
  LoadedModel(ProcessGrid& grid, const std::string& path, const std::string& tokenizer,
              SavedWeights weights, const ServeSettings& settings);

  /// The model as requests see it, on rank 0.
  const ServedModel& served() const { return served_; }
  /// Calls `body` on rank 0 with an engine over all ranks; the others compute for it until it
  /// returns. On a GPU the engine computes one request at a time. Collective. UsageError where the
  /// engine does not fit (with_engine()).
  void with_engine(const EngineOptions& options, const std::function<void(Engine&)>& body);

 private:
  TokenBytes token_bytes() const;

  std::string path_, tokenizer_;
  ServedModel served_;
  std::optional<GridModel> model_;
};

}  // namespace triax
