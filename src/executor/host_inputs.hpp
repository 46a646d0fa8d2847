// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of recomputed layers in host memory, for a run on a device (DeepSpeed's
// cpu_checkpointing). The memory is pinned; two streams of their own copy it.
#include <vector>

#include "src/state/buffer_pool.hpp"

namespace triax {

class HostInputs {
 public:
  /// `count` buffers of `bytes`, for `places` inputs by number, in memory beside that of `space`.
  HostInputs(std::size_t bytes, int count, std::size_t places, MemorySpace space);
  ~HostInputs();
  HostInputs(const HostInputs&) = delete;
  HostInputs& operator=(const HostInputs&) = delete;

  // start_* returns at once. `input`: on the device, (bytes) u8. Earlier work on `stream` is done
  // first. Work on it after wait_* may overwrite the input (offload) or read it (reload).
  void start_offload(const Stream& stream, std::size_t place, const Tensor& input);
  void wait_offload(const Stream& stream, std::size_t place);
  void start_reload(const Stream& stream, std::size_t place, const Tensor& input);
  void wait_reload(const Stream& stream, std::size_t place);
  std::int64_t bytes() const { return buffers_.bytes(); }

 private:
  struct Place {
    int slot = -1;
    Event moved;
  };
  void follow(const Stream& copies, const Stream& stream);

  BufferPool buffers_;
  std::vector<Event> read_;  // by buffer: its last read
  std::vector<Place> places_;
  Event before_;  // of follow()
  Stream down_, up_;
};

}  // namespace triax
