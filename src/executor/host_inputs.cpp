// SPDX-License-Identifier: Apache-2.0
#include "src/executor/host_inputs.hpp"

#include <utility>

namespace triax {

HostInputs::HostInputs(std::size_t bytes, int count, std::size_t places, MemorySpace space)
    : buffers_("inputs on the host", bytes, count, MemorySource::beside(space)),
      read_(static_cast<std::size_t>(count)),
      places_(places),
      down_(space),
      up_(space) {}

// Waits for copies under way: later they would write to memory that others have taken.
HostInputs::~HostInputs() {
  try {
    down_.synchronize();
    up_.synchronize();
  } catch (const Error&) {  // of the device; the run has met it before
  }
}

// Orders later work on `copies` after present work on `stream`.
void HostInputs::follow(const Stream& copies, const Stream& stream) {
  before_.record(stream);
  copies.wait(before_);
}

void HostInputs::start_offload(const Stream& stream, std::size_t place, const Tensor& input) {
  Place& at = places_[place];
  at.slot = buffers_.acquire();
  follow(down_, stream);
  down_.wait(read_[static_cast<std::size_t>(at.slot)]);
  copy(down_, buffers_.at(at.slot), input);
  at.moved.record(down_);
}

void HostInputs::wait_offload(const Stream& stream, std::size_t place) {
  stream.wait(places_[place].moved);
}

// `stream` has used the buffer on the device before.
void HostInputs::start_reload(const Stream& stream, std::size_t place, const Tensor& input) {
  Place& at = places_[place];
  follow(up_, stream);
  up_.wait(at.moved);
  copy(up_, input, buffers_.at(at.slot));
  at.moved.record(up_);
}

void HostInputs::wait_reload(const Stream& stream, std::size_t place) {
  Place& at = places_[place];
  stream.wait(at.moved);
  read_[static_cast<std::size_t>(at.slot)].record(up_);
  buffers_.release(std::exchange(at.slot, -1));
}

}  // namespace triax
