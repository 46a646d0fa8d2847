// SPDX-License-Identifier: Apache-2.0
#include "src/state/weights/quantized/flat_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

FlatMatrix::FlatMatrix(std::string name, const Shape& shape, bool transposed, Read read_elements)
    : name_(std::move(name)),
      read_(std::move(read_elements)),
      outputs_(shape[transposed ? 1 : 0]),
      inputs_(shape[transposed ? 0 : 1]) {
  if (!transposed) return;
  std::vector<float> stored(static_cast<std::size_t>(elements()));
  read(0, Tensor(stored.data(), {elements()}));
  whole_.resize(stored.size());
  for (std::int64_t i = 0; i < inputs_; ++i)
    for (std::int64_t o = 0; o < outputs_; ++o)
      whole_[static_cast<std::size_t>(o * inputs_ + i)] =
          stored[static_cast<std::size_t>(i * outputs_ + o)];
}

Tensor FlatMatrix::piece(std::int64_t begin, std::int64_t count) {
  if (!whole_.empty()) return {whole_.data() + begin, {count}};
  piece_.resize(static_cast<std::size_t>(count));
  const Tensor out(piece_.data(), {count});
  read(begin, out);
  return out;
}

void FlatMatrix::read(std::int64_t begin, const Tensor& out) {
  read_(begin, out);
  const float* values = out.as<float>();
  if (!std::all_of(values, values + out.elements(), [](float x) { return std::isfinite(x); }))
    throw Error(fmt::format("{} has a value that is not finite", name_), "it cannot be quantized",
                "Use another model");
}

}  // namespace triax
