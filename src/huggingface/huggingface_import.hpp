// SPDX-License-Identifier: Apache-2.0
#pragma once
// Import of a Hugging Face model directory as a checkpoint of step 0.
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/dtype.hpp"

namespace triax {

struct ImportOptions {
  std::optional<DType> type = {};  // type of /model: f32, bf16 or f16; nothing: the type of the
                                   // files, f32 if they have several
  bool replace = false;            // replace an existing file
};

struct ImportSummary {
  std::int64_t tensors = 0, bytes = 0;
  DType type = DType::f32;
  std::string tokenizer = {};  // its format; empty: none
  std::vector<std::string>
      warnings;  // about keys of config.json without effect, and names of tensors
};

/// Writes the checkpoint `file` of step 0 from config.json and the safetensors files in
/// `directory` (also a model's folder of the hub's cache): /model, the files of its tokenizer and
/// those about text generation, and no optimizer state. One process, with 6 MiB of weights at a
/// time. Error if a tensor is missing or has a shape other than config.json defines, or a disk
/// fails; UsageError for a config.json that triax cannot train, and the errors of OutputTarget for
/// `file`, before anything is read.
ImportSummary import_huggingface(const std::string& directory, const std::string& file,
                                 const ImportOptions& options);

}  // namespace triax
