// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/tensor_bytes.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax {

void refuse_quantized(const std::string& name, const std::string& problem, const std::string& why) {
  throw UsageError(fmt::format("quantized tensor {}: {}", name, problem), why,
                   "Check that weights and config.json belong together, or fetch the model again");
}

void refuse_format(const std::string& name, std::string_view format, const std::string& has) {
  throw UsageError(fmt::format("{} cannot be kept as {}", name, format),
                   fmt::format("the files have {}", has),
                   "Set model.quantize (inference.weights) to the files' format, or to none (f32): "
                   "then it is decoded");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::int64_t elements_of_shape(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  return elements;
}

SafetensorsStored require_stored(const SafetensorsReader& reader, const std::string& matrix,
                                 const std::string& name, const std::string& type,
                                 const std::vector<std::int64_t>& shape) {
  if (!reader.contains(name))
    refuse_quantized(matrix, fmt::format("{} is missing", name), "it cannot be decoded without it");
  SafetensorsStored stored = reader.stored(name);
  if (stored.type != type)
    refuse_quantized(matrix, fmt::format("{} has type {}", name, stored.type),
                     fmt::format("it must be {}", type));
  bool fits = stored.shape.size() == shape.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d)
    fits = shape[d] == -1 || stored.shape[d] == shape[d];
  if (!fits)
    refuse_quantized(
        matrix, fmt::format("{} has shape {}", name, shape_text(stored.shape)),
        fmt::format("it must be {}{}", shape_text(shape),
                    std::ranges::find(shape, -1) == shape.end() ? "" : ", where -1 is any size"));
  return stored;
}

}  // namespace triax
