#pragma once
// Inputs of recomputed layers in the host's memory, of a run on a device (DeepSpeed's
// cpu_checkpointing): pinned, and copied by streams beside the compute's.
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

  // Start returns at once. `input`: on the device, (bytes) u8. What `stream` did before is done
  // first; what it does after Wait may change the input, or sees it again.
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
  std::vector<Event> read_;  // by buffer: for the last time
  std::vector<Place> places_;
  Event before_;  // of follow()
  Stream down_, up_;
};

}  // namespace triax
