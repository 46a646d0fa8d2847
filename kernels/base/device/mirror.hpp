// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small memory that both the host and a stream's kernels access: one piece if they share a memory
// space, else a pinned piece and its copy on the device.
#include "kernels/base/device/device_arena.hpp"

namespace triax {

class Mirror {
 public:
  /// Zeroed. The device's copy comes from region `part` of `source`.
  Mirror(const MemorySource& source, std::size_t bytes, std::string_view part = {})
      : here_(Buffer::beside(source.space, bytes)),
        there_(source.space == MemorySpace::host ? Memory() : source.take(part, bytes)) {}

  const Memory& here() const { return here_; }
  const Memory& there() const { return there_.bytes() > 0 ? there_ : here_; }
  /// Copies `here` to `there`. The host must not change `here` until the copy is complete.
  void push(const Stream& stream) const { copy(stream, all(there()), all(here_)); }
  /// Copies `there` to `here` after all work that `stream` has now, and waits for it.
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
