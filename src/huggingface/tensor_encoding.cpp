// SPDX-License-Identifier: Apache-2.0
#include "src/huggingface/tensor_encoding.hpp"

#include <algorithm>

#include "io/checkpoint/tensor_pieces.hpp"
#include "src/huggingface/convert_weights.hpp"

namespace triax {
namespace {

Tensor staging(std::vector<std::byte>& memory, DType type, std::int64_t elements) {
  memory.resize(static_cast<std::size_t>(elements) * size_of(type));
  return {static_cast<void*>(memory.data()), type, {elements}};
}

}  // namespace

std::vector<SafetensorsTensor> PlainEncoding::stored(const GlobalTensor& tensor) const {
  return {{tensor.name, type_, tensor.shape}};
}

void PlainEncoding::write(const GlobalTensor& tensor, WeightSource& from, SafetensorsWriter& to) {
  const DType stored = from.type(tensor.name);
  for (std::int64_t begin = 0; begin < tensor.shape.elements(); begin += piece_elements) {
    const std::int64_t end = std::min(begin + piece_elements, tensor.shape.elements());
    const Tensor read = staging(stored_, stored, end - begin);
    from.read(tensor.name, begin, read);
    const bool same = stored == type_;
    const Tensor out = same ? read : staging(converted_, type_, end - begin);
    if (!same) convert_weights(tensor.name, out, read);
    to.write(tensor.name, begin, out);
  }
}

}  // namespace triax
