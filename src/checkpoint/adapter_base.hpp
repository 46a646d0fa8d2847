// SPDX-License-Identifier: Apache-2.0
#pragma once
// The base of a checkpoint of low-rank adapters, which holds the adapters alone: where the base is,
// and which it is.
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "src/config/config.hpp"

namespace triax {

/// Text that differs where the weights in a model's directory do: names and sizes of its
/// safetensors files, and checksums of parts of them.
std::string base_fingerprint(const std::string& directory);

/// CheckpointHeader::adapter of a model: the adapters, the base's absolute path and its fingerprint
/// (base_fingerprint). Empty for a model without adapters.
std::string adapter_text(const ModelConfig& model, const std::string& fingerprint);

/// Whether a checkpoint holds adapters without their base.
inline bool holds_adapters(const CheckpointHeader& header) {
  return !header.adapter.empty();
}

/// The model of a checkpoint with its adapters; ModelConfig::weights is the directory of their
/// base. `warnings`: see model_from_huggingface. Error for a header that cannot be read.
ModelConfig model_of(const CheckpointHeader& header, std::vector<std::string>* warnings = nullptr);

/// UsageError if the weights in `directory` are not those that the checkpoint's adapters were
/// trained on, or are gone. `path`: the checkpoint, for errors.
void check_base(const CheckpointHeader& header, const std::string& path,
                const std::string& directory);

/// Why a run of `model` cannot resume a checkpoint of other adapters, or of a whole model where it
/// has adapters; none: it can.
std::vector<std::string> adapter_differences(const CheckpointHeader& header,
                                             const ModelConfig& model);

}  // namespace triax
