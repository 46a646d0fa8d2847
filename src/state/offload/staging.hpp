// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host memory for moving elements between files and tensors in any space; pinned if the tensors are
// on a device.
#include <utility>

#include "src/comm/watchdog/device_wait.hpp"
#include "src/state/parameter_block.hpp"

namespace triax {

class Staging {
 public:
  explicit Staging(WaitForDevice wait = wait_alone) : wait_(std::move(wait)) {}
  /// Most bytes it will take if at most `elements` elements of tensors of `type` in `space` pass at
  /// once.
  static std::int64_t bytes_of(MemorySpace space, DType type, std::int64_t elements);

  /// A host tensor (elements), valid until the next call.
  Tensor take(MemorySpace space, DType type, std::int64_t elements);
  /// to = from, rounded to the type of `to`. `from` is float32 on the host, and may change after
  /// the call.
  void put(const Stream& stream, const Tensor& to, const Tensor& from);

 private:
  static Tensor grown(Buffer& memory, MemorySpace space, DType type, std::int64_t elements);

  WaitForDevice wait_;
  Buffer memory_;
  Buffer rounded_;  // on the way to a device
};

}  // namespace triax
