// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stored tensors of a quantized matrix: expected types and shapes, and copies of ranges.
#include <string>
#include <vector>

#include "io/safetensors/safetensors.hpp"

namespace triax {

/// A contradiction of a tensor `name` in quantized files.
[[noreturn]] void refuse_quantized(const std::string& name, const std::string& problem,
                                   const std::string& why);

/// Error of model.quantize: the tensor `name` cannot be kept as `format`.
[[noreturn]] void refuse_format(const std::string& name, std::string_view format,
                                const std::string& has);

/// The tensor as stored. UsageError naming `matrix` where it is missing or of another type or
/// shape. -1: any size.
SafetensorsStored require_stored(const SafetensorsReader& reader, const std::string& matrix,
                                 const std::string& name, const std::string& type,
                                 const std::vector<std::int64_t>& shape);

/// "(2, 3)"
std::string shape_text(const std::vector<std::int64_t>& shape);
std::int64_t elements_of_shape(const std::vector<std::int64_t>& shape);

/// Elements [begin, begin + count) of a tensor of type T.
template <class T>
std::vector<T> read_range(const SafetensorsReader& reader, const std::string& name,
                          std::int64_t begin, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  const auto width = static_cast<std::int64_t>(sizeof(T));
  reader.read_bytes(name, begin * width, out.data(), count * width);
  return out;
}

}  // namespace triax
