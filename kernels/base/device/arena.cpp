// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/device/arena.hpp"

#include <algorithm>

namespace triax {
namespace {
constexpr std::size_t alignment = 64;
}

Arena::Arena(void* memory, std::size_t bytes, MemorySpace space)
    : measuring_(false), memory_(static_cast<char*>(memory)), bytes_(bytes), space_(space) {}

Tensor Arena::take(std::string_view name, DType dtype, const Shape& shape) {
  Tensor view(nullptr, dtype, shape, space_);
  const auto bytes =
      (static_cast<std::size_t>(view.bytes()) + alignment - 1) / alignment * alignment;
  if (!measuring_) {
    check(used_ + bytes <= bytes_, "arena is full: {} needs {} bytes of {} with {} in use", name,
          bytes, bytes_, used_);
    view = Tensor(memory_ + used_, dtype, shape, space_);
  }
  used_ += bytes;
  high_water_ = std::max(high_water_, used_);
  return view;
}

}  // namespace triax
