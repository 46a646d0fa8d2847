// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Hugging Face directory as a checkpoint of step 0.
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/dtype.hpp"

namespace triax {

struct ImportOptions {
  std::optional<DType> type = {};  // of /model: f32, bf16 or f16; none: that of the files, float32
                                   // where they have several
  bool replace = false;            // a file that is there
};

struct ImportSummary {
  std::int64_t tensors = 0, bytes = 0;
  DType type = DType::f32;
  std::vector<std::string> warnings;  // of config.json's keys without effect, of tensors' names
};

/// Makes the checkpoint `file` of config.json and the safetensors in `directory`: /model and
/// nothing of an optimizer, at step 0. By one process; 6 MiB of weights at a time. Error for
/// tensors that are missing or of another shape than config.json says, and of disks; UsageError for
/// a config.json that triax cannot train, and, before anything is read, for a `file` that cannot be
/// written (OutputTarget).
ImportSummary import_huggingface(const std::string& directory, const std::string& file,
                                 const ImportOptions& options);

}  // namespace triax
