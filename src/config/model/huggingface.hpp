// SPDX-License-Identifier: Apache-2.0
#pragma once
// ModelConfig from Hugging Face's config.json and back.
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// ModelConfig of a Hugging Face config.json text; `source` names it in errors. `warnings` gets one
/// line per finding that has no effect.
ModelConfig model_from_huggingface(const std::string& json_text, const std::string& source,
                                   std::vector<std::string>* warnings = nullptr);
/// The config.json text of `model`, for exports and checkpoints: the inverse of
/// model_from_huggingface. `type` is that of the weights beside it: f32, bf16 or f16.
std::string huggingface_config(const ModelConfig& model, DType type = DType::f32);

}  // namespace triax
