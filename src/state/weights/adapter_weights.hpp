// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of a low-rank adapter in the format of Hugging Face's PEFT, by the names of a model's.
#include <cstdint>
#include <string>

#include "io/safetensors/safetensors.hpp"
#include "src/config/config.hpp"

namespace triax {

/// Files of an adapter's directory.
inline constexpr const char* adapter_config_name = "adapter_config.json";
inline constexpr const char* adapter_weights_name = "adapter_model.safetensors";
/// Prefix of the names of a model's modules in PEFT's files.
inline constexpr const char* adapter_prefix = "base_model.model.";

class AdapterWeights {
 public:
  /// `directory` holds adapter_model.safetensors with exactly the tensors of the model's adapters,
  /// in their shapes, all finite: anything else is an error that says which tensor.
  AdapterWeights(const std::string& directory, const ModelConfig& model);
  /// Reads elements [begin, begin + out.elements()) of a tensor, given the model's name of it; see
  /// SafetensorsReader::read().
  void read(const std::string& tensor, std::int64_t begin, const Tensor& out) const;

 private:
  SafetensorsReader reader_;
};

}  // namespace triax
