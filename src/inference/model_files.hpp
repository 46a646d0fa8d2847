// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of a model to compute with: a checkpoint of triax, or a directory of Hugging Face's.
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/config/config.hpp"
#include "src/inference/grid_model.hpp"

namespace triax {

/// Sequence length (tokens) that a checkpoint's weights were trained with: data.seq_length of its
/// job, or all positions of the model if it was imported or started from model.from. Without limit
/// for rotary positions that stretch themselves (longest_sequence).
std::int64_t trained_length(const CheckpointHeader& header);

class ModelFiles {
 public:
  /// A directory has config.json and safetensors; any other path is a checkpoint. Collective: the
  /// ranks give the same path. Errors of the files on all ranks alike.
  ModelFiles(std::string path, const Ranks& ranks);

  const std::string& path() const { return path_; }
  bool is_directory() const { return !checkpoint_; }
  const ModelConfig& model() const { return model_; }
  /// Longest sequence in tokens that the weights were trained with (trained_length); with rotary
  /// positions that stretch themselves, the positions of config.json.
  std::int64_t trained_length() const;
  /// The type that holds the weights exactly: their common 16-bit type, else float32.
  DType type(SavedWeights weights = SavedWeights::trained) const;
  /// Text that differs where the weights do: sizes and checksums of parts of the files.
  std::string fingerprint() const;
  /// Findings about the files that have no effect, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Fills a GridModel of model(). Collective over `ranks`. UsageError if there are no such
  /// weights.
  void load(const Stream& stream, const ModelConfig& model, ParameterStore& store,
            const Ranks& ranks, SavedWeights weights = SavedWeights::trained) const;

 private:
  std::string path_;
  std::optional<CheckpointReader> checkpoint_;  // nothing: a directory
  ModelConfig model_;
  std::vector<std::string> warnings_;
};

}  // namespace triax
