// SPDX-License-Identifier: Apache-2.0
#pragma once
// Export of a checkpoint's weights as a model directory for Hugging Face's transformers.
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/base/dtype.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

struct ExportOptions {
  std::optional<DType> type = {};  // f32, bf16 or f16; nothing: the type of /model
  std::int64_t shard_bytes =
      5'000'000'000;     // limit on a file's tensors; a larger tensor has a file of its own
  bool replace = false;  // replace a model in the directory
  bool verify = false;   // verify the checkpoint's checksums first
};

struct ExportSummary {
  std::int64_t files = 0, tensors = 0, bytes = 0;  // of the weights
  std::int64_t tokenizer_files = 0;                // and files about text generation
  DType type = DType::f32;
  bool verified = false;  // the checksums agree; false also where the checkpoint has none
};

/// Writes model.safetensors (or shards with their index) and config.json to `directory`, which is
/// created. In the type of /model the weights keep their bits; another type is rounded to nearest
/// even, from /master if the checkpoint has it. A tied head is written once. The files of the
/// checkpoint's tokenizer are written byte for byte.
///
/// The ranks share the files; each rank holds 8 MiB at a time. All files are written and synced
/// under temporary names before the first is renamed: a failure until then leaves an earlier export
/// whole. config.json is written last. Collective. Error if the checkpoint lacks a tensor or is
/// damaged, or a disk fails. Before any tensor is read: UsageError if the directory holds a model
/// or another tokenizer and `replace` is false; the errors of OutputTarget; an error if the disk
/// has too little space.
ExportSummary export_huggingface(const std::string& checkpoint, const std::string& directory,
                                 const ExportOptions& options, const Ranks& ranks);

}  // namespace triax
