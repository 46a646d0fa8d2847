#pragma once
// A little memory that both the host and the kernels of a stream use: one piece where they share
// their space, else a pinned one and its copy on the device.
#include "kernels/base/device/device_arena.hpp"

namespace triax {

class Mirror {
 public:
  /// Zeroed; `there` is from `source`, of its part `part`.
  Mirror(const MemorySource& source, std::size_t bytes, std::string_view part = {})
      : here_(Buffer::beside(source.space, bytes)),
        there_(source.space == MemorySpace::host ? Memory() : source.take(part, bytes)) {}

  const Memory& here() const { return here_; }
  const Memory& there() const { return there_.bytes() > 0 ? there_ : here_; }
  /// `there` becomes what `here` is. The host leaves `here` as it is until that is done.
  void push(const Stream& stream) const { copy(stream, all(there()), all(here_)); }
  /// `here` becomes what `there` is behind all work that `stream` has now; the caller waits for
  /// that.
  void pull(const Stream& stream) const {
    copy(stream, all(here_), all(there()));
    stream.synchronize();
  }

 private:
  static Tensor all(const Memory& memory) {
    return memory.tensor(DType::u8, {static_cast<std::int64_t>(memory.bytes())});
  }

  Memory here_, there_;
};

}  // namespace triax
