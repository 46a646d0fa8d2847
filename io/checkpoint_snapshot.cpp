#include "io/checkpoint_snapshot.hpp"

#include <cstddef>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

CheckpointSnapshot::CheckpointSnapshot(std::int64_t bytes)
    : memory_(static_cast<std::size_t>(bytes)) {}

std::int64_t CheckpointSnapshot::footprint(std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  return (bytes + line - 1) / line * line;
}

void CheckpointSnapshot::clear() {
  pieces_.clear();
  used_ = 0;
}

void CheckpointSnapshot::add(const Stream& stream, const std::string& name,
                             std::vector<hdf5::Box> boxes, const Tensor& data) {
  const auto size = static_cast<std::int64_t>(data.bytes());
  check(used_ + size <= bytes(), "a snapshot of {} bytes has no room for {} more of {}", bytes(),
        size, name);
  const Tensor own(static_cast<void*>(static_cast<std::byte*>(memory_.data()) + used_),
                   data.dtype(), data.shape());
  copy(stream, own, data);
  used_ += footprint(size);
  pieces_.push_back({name, std::move(boxes), own});
}

}  // namespace triax
