// SPDX-License-Identifier: Apache-2.0
#include "src/state/offload/staging.hpp"

#include "kernels/activation/elementwise.hpp"

namespace triax {

std::int64_t Staging::bytes_of(MemorySpace space, DType type, std::int64_t elements) {
  const bool rounds = space == MemorySpace::device && type != DType::f32;
  const std::size_t width = sizeof(float) + (rounds ? size_of(type) : 0);
  return elements * static_cast<std::int64_t>(width);
}

Tensor Staging::grown(Buffer& memory, MemorySpace space, DType type, std::int64_t elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(type);
  if (memory.bytes() < bytes) memory = Buffer::beside(space, bytes);
  return memory.tensor(type, {elements});
}

Tensor Staging::take(MemorySpace space, DType type, std::int64_t elements) {
  return grown(memory_, space, type, elements);
}

void Staging::put(const Stream& stream, const Tensor& to, const Tensor& from) {
  if (to.space() == MemorySpace::host) return convert(Stream(), to, from);
  Tensor rounded = from;
  if (to.dtype() != from.dtype()) {
    rounded = grown(rounded_, to.space(), to.dtype(), to.elements());
    convert(Stream(), rounded, from);
  }
  copy(stream, to, rounded);
  Event put;
  put.record(stream);
  wait_(put);
}

}  // namespace triax
