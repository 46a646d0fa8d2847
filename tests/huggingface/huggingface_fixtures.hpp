// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fixtures for tests of import and export.
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "io/safetensors/safetensors.hpp"
#include "src/huggingface/huggingface_export.hpp"
#include "src/huggingface/huggingface_import.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/golden.hpp"

namespace triax::test {

/// Bits of every tensor in a directory, widened to float32.
inline std::map<std::string, std::vector<std::uint32_t>> bits_of(const std::string& directory) {
  const SafetensorsReader reader(directory);
  std::map<std::string, std::vector<std::uint32_t>> all;
  for (const auto& [name, entry] : reader.entries()) {
    std::vector<std::uint32_t>& bits = all[name];
    bits.resize(static_cast<std::size_t>(entry.shape.elements()));
    std::vector<float> values(bits.size());
    reader.read(name, 0, Tensor(values.data(), {std::ssize(values)}));
    std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  }
  return all;
}

/// Imports a golden case; returns the path of the checkpoint.
inline std::string imported(const TempDirectory& directory, const std::string& golden,
                            std::optional<DType> type = {}) {
  std::string file = directory.path(golden + ".h5");
  import_huggingface(read_golden(golden).directory, file, {.type = type, .replace = true});
  return file;
}

}  // namespace triax::test
