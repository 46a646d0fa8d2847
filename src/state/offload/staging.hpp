#pragma once
// Host memory through which elements pass between files and tensors, wherever those are: pinned
// where they are a device's.
#include <utility>

#include "src/comm/watchdog/device_wait.hpp"
#include "src/state/parameter_block.hpp"

namespace triax {

class Staging {
 public:
  explicit Staging(WaitForDevice wait = wait_alone) : wait_(std::move(wait)) {}
  /// Bytes that it comes to take, at most, where no more than `elements` of tensors of `type` in
  /// `space` go through at once.
  static std::int64_t bytes_of(MemorySpace space, DType type, std::int64_t elements);

  /// (elements) on the host, until the next call.
  Tensor take(MemorySpace space, DType type, std::int64_t elements);
  /// to = from, rounded to the type of `to`. from: of the host, float32; it may change afterwards.
  void put(const Stream& stream, const Tensor& to, const Tensor& from);

 private:
  static Tensor grown(Buffer& memory, MemorySpace space, DType type, std::int64_t elements);

  WaitForDevice wait_;
  Buffer memory_;
  Buffer rounded_;  // on the way to a device
};

}  // namespace triax
