// SPDX-License-Identifier: Apache-2.0
#pragma once
// Export of a checkpoint's weights as a model directory for Hugging Face's transformers.
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "src/huggingface/model_directory.hpp"

namespace triax {

/// Writes model.safetensors (or shards with their index) and config.json to `directory`, which is
/// created. In the type of /model the weights keep their bits; another type is rounded to nearest
/// even, from /master if the checkpoint has it; an average of the weights is rounded likewise. A
/// tied head is written once. The files of the checkpoint's tokenizer are written byte for byte.
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
