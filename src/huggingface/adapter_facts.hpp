// SPDX-License-Identifier: Apache-2.0
#pragma once
// Contents of a folder of PEFT's without its base, for people who look at adapters or compare them.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

/// One adapted module. Norms are L2, of the tensors as they are in the file.
struct AdaptedModule {
  std::string name;
  std::int64_t rank = 0, inputs = 0, outputs = 0;
  double scale = 0.0;  // of B A
  double a_norm = 0.0, b_norm = 0.0;
  std::optional<double> magnitude_norm = {};  // of DoRA's magnitudes
  bool finite = true;
};

/// A tensor of a module that was trained whole (modules_to_save).
struct SavedTensor {
  std::string name;
  Shape shape;
  double norm = 0.0;  // L2
  bool finite = true;
};

struct AdapterFacts {
  nlohmann::json config = {};  // adapter_config.json
  std::vector<AdaptedModule> modules = {};
  std::vector<SavedTensor> saved = {};
  std::vector<std::string> others = {};  // tensors that are none of these
  std::int64_t parameters = 0;           // of all but the others
  DType type = DType::f32;               // of the first tensor
};

/// Reads a folder with adapter_config.json and adapter_model.safetensors. UsageError where one is
/// missing or cannot be read; Error where an A has no B of its rank.
AdapterFacts adapter_facts(const std::string& directory);

/// Difference of two adapters, one line each; none: keys that matter and all tensors are equal.
std::vector<std::string> adapter_diff(const std::string& a, const std::string& b);

}  // namespace triax
