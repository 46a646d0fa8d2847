// SPDX-License-Identifier: Apache-2.0
#pragma once
// Low-rank adapters as files: read from a checkpoint or from PEFT's folder, written as PEFT's
// folder, or merged into their base.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/huggingface/model_directory.hpp"

namespace triax {

/// Reads elements [begin, begin + out.elements()) of a tensor of an adapter, or of a module that
/// was trained whole beside it, by the model's name of it. out: contiguous float32 in host memory.
using ReadAdapter =
    std::function<void(const std::string& tensor, std::int64_t begin, const Tensor& out)>;

/// Adapters of a checkpoint: from /master where it has them, or their average. `reader` outlives
/// the result. Error if a tensor is missing or has another shape.
ReadAdapter adapter_of_checkpoint(const CheckpointReader& reader, const std::string& checkpoint,
                                  const ModelConfig& model, SavedWeights weights);
/// Adapters of a folder of PEFT's, checked as AdapterWeights does.
ReadAdapter adapter_of_folder(const std::string& directory, const ModelConfig& model);

/// The base of `model`, which is in model.weights, with W + scale B A in place of each W that has
/// an adapter, scaled to its magnitudes if there are any, and the modules that were trained whole
/// in place of the base's. Product and sum are float32, rounded once, to `type`; nothing: to the
/// base's. Error while reading where a sum is not finite.
ModelToWrite merged_model(const ModelConfig& model, ReadAdapter adapter, std::optional<DType> type);

struct MergeSummary {
  ExportSummary files;
  std::int64_t adapted = 0;  // tensors that changed
};

/// Writes the base with the adapter of PEFT's folder `adapter` merged to `directory`, with the
/// base's tokenizer: see merged_model and export_huggingface. UsageError for an adapter of another
/// model. Collective.
MergeSummary merge_adapter(const std::string& base, const std::string& adapter,
                           const std::string& directory, const ExportOptions& options,
                           const Ranks& ranks);

struct AdapterSummary {
  std::int64_t tensors = 0, bytes = 0;
  DType type = DType::f32;
  bool verified = false;  // see ExportSummary
};

/// Writes a checkpoint's adapters as PEFT's folder: adapter_model.safetensors and
/// adapter_config.json, in float32 or `options.type`. UsageError if the checkpoint holds a whole
/// model, or if the directory holds a model, or an adapter and options.replace is false; Error for
/// a value that is not finite. Collective; rank 0 writes.
AdapterSummary export_adapter(const std::string& checkpoint, const std::string& directory,
                              const ExportOptions& options, const Ranks& ranks);

}  // namespace triax
