// SPDX-License-Identifier: Apache-2.0
#pragma once
// A checkpoint's weights as a directory that Hugging Face's transformers loads.
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/base/dtype.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

struct ExportOptions {
  std::optional<DType> type = {};            // f32, bf16 or f16; none: that of /model
  std::int64_t shard_bytes = 5'000'000'000;  // of a file's tensors, at most; a larger tensor has a
                                             // file of its own
  bool replace = false;                      // a model that the directory holds
  bool verify = false;                       // the checkpoint, against its checksums
};

struct ExportSummary {
  std::int64_t files = 0, tensors = 0, bytes = 0;  // of weights
  DType type = DType::f32;
  bool checksums = true;  // the checkpoint has some; without, it cannot be verified
};

/// Writes model.safetensors (or shards with their index) and config.json into `directory`, which is
/// made. In the type of /model the weights are those bits; in another they are rounded, to nearest
/// even, from /master where the checkpoint has it. A tied head is not written twice.
///
/// The ranks share out the files; each holds 8 MiB at a time. Every file is written and synced
/// under a temporary name before the first gets its own: a failure before that leaves a former
/// export whole. config.json comes last. Collective. Error where the checkpoint lacks a tensor or
/// is damaged, and of disks; before the tensors are read, UsageError where the directory holds a
/// model and `replace` is false, and whatever else is wrong with it (OutputTarget, room).
ExportSummary export_huggingface(const std::string& checkpoint, const std::string& directory,
                                 const ExportOptions& options, const Ranks& ranks);

}  // namespace triax
