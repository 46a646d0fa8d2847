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
  copied_ = 0;
}

void CheckpointSnapshot::add(const std::string& name, std::vector<hdf5::Box> boxes, DType type,
                             Source source) {
  const std::int64_t elements = hdf5::elements(boxes);
  const std::int64_t size = elements * static_cast<std::int64_t>(size_of(type));
  check(used_ + size <= bytes(), "a snapshot of {} bytes has no room for {} more of {}", bytes(),
        size, name);
  const Tensor own(static_cast<void*>(static_cast<std::byte*>(memory_.data()) + used_), type,
                   {elements});
  used_ += footprint(size);
  pieces_.push_back({name, std::move(boxes), own, std::move(source)});
}

void CheckpointSnapshot::add(const std::string& name, std::vector<hdf5::Box> boxes,
                             const Tensor& data) {
  add(name, std::move(boxes), data.dtype(),
      [data](const Stream& stream, const Tensor& to) { triax::copy(stream, to, data); });
}

void CheckpointSnapshot::copy(const Stream& stream) {
  for (; copied_ < pieces_.size(); ++copied_)
    pieces_[copied_].source(stream, pieces_[copied_].data);
  stream.synchronize();
}

void CheckpointSnapshot::check_copied() const {
  check(copied_ == pieces_.size(), "a snapshot of {} pieces with {} of them copied", pieces_.size(),
        copied_);
}

}  // namespace triax
