#pragma once
// A little memory that both the host and the kernels of a stream use: one piece where they share
// their space, else a pinned one and its copy on the device.
#include "kernels/base/device.hpp"

namespace triax {

class Mirror {
 public:
  /// Zeroed; `there` is in `space`.
  Mirror(MemorySpace space, std::size_t bytes)
      : here_(Buffer::beside(space, bytes)),
        there_(space == MemorySpace::host ? 0 : bytes, space) {}

  const Buffer& here() const { return here_; }
  const Buffer& there() const { return there_.bytes() > 0 ? there_ : here_; }
  /// `there` becomes what `here` is. The host leaves `here` as it is until that is done.
  void push(const Stream& stream) const { copy(stream, all(there()), all(here_)); }
  /// `here` becomes what `there` is behind all work that `stream` has now; the caller waits for
  /// that.
  void pull(const Stream& stream) const {
    copy(stream, all(here_), all(there()));
    stream.synchronize();
  }

 private:
  static Tensor all(const Buffer& buffer) {
    return buffer.tensor(DType::u8, {static_cast<std::int64_t>(buffer.bytes())});
  }

  Buffer here_, there_;
};

}  // namespace triax
