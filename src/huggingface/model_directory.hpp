// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a model directory for Hugging Face's transformers from any source of weights.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/base/dtype.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/tensor.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/config/config.hpp"
#include "src/huggingface/tensor_encoding.hpp"
#include "src/text/tokenizer_files.hpp"

namespace triax {

struct ExportOptions {
  std::optional<DType> type = {};  // f32, bf16 or f16; nothing: the type of /model
  std::int64_t shard_bytes =
      5'000'000'000;     // limit on a file's tensors; a larger tensor has a file of its own
  bool replace = false;  // replace a model in the directory
  bool verify = false;   // verify the checkpoint's checksums first
  SavedWeights weights = SavedWeights::trained;
};

struct ExportSummary {
  std::int64_t files = 0, tensors = 0, bytes = 0;  // of the weights
  std::int64_t tokenizer_files = 0;                // and files about text generation
  DType type = DType::f32;
  bool verified = false;  // the checksums agree; false also where the checkpoint has none
};

/// A model to be written.
struct ModelToWrite {
  ModelConfig model;  // without adapters
  std::unique_ptr<WeightSource> weights = {};
  DType type = DType::f32;                              // of the files
  std::unique_ptr<TensorEncoding> encoding = {};        // null: all tensors plain, in `type`
  TokenizerFiles tokenizer = {};                        // on rank 0; written byte for byte
  std::function<bool()> verify = [] { return false; };  // collective; see ExportSummary::verified
};

/// Writes the model that `open` returns to `directory`, as export_huggingface does, whose errors it
/// has. `prepare`, which is collective, and then `open`, which is not, run on every rank once the
/// directory may be written, before anything is. Collective.
ExportSummary write_model(const std::string& directory, const ExportOptions& options,
                          const Ranks& ranks, const std::function<void()>& prepare,
                          const std::function<ModelToWrite()>& open);

}  // namespace triax
