// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frozen codes and values: tests/golden/quantized.json, and the numbers that they were made of.
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax::test {

inline const nlohmann::json& frozen() {
  static const nlohmann::json all = [] {
    std::ifstream file(TRIAX_SOURCE_DIR "/tests/golden/quantized.json");
    return nlohmann::json::parse(file);
  }();
  return all;
}

/// Elements of bytes in hexadecimal.
template <class T>
std::vector<T> elements(const std::string& text) {
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<unsigned char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

/// As in make_quantized.py.
inline std::vector<float> made_values(std::int64_t n, std::int64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t mantissa = (1237 * i + 4099 * seed * seed + 31 * i * seed) % 8191 - 4095;
    values.push_back(
        std::ldexp(static_cast<float>(mantissa) / 4096.0F, -static_cast<int>((i / 7 + seed) % 6)));
  }
  return values;
}

template <class T>
Tensor view(std::vector<T>& values) {
  return {values.data(), {std::ssize(values)}};
}

}  // namespace triax::test
