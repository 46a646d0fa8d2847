// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/host_step.hpp"

#include <algorithm>
#include <utility>

#include "src/state/optimizer/packed_states.hpp"

namespace triax {

HostStep::HostStep(DType type, DType gradient_type, WaitForDevice wait)
    : type_(type),
      gradient_type_(gradient_type),
      wait_(std::move(wait)),
      down_(MemorySpace::device),
      up_(MemorySpace::device) {
  for (Slot& slot : slots_) {
    slot.weights = Buffer::pinned(static_cast<std::size_t>(portion) * size_of(type));
    slot.gradient = Buffer::pinned(static_cast<std::size_t>(portion) * size_of(gradient_type));
  }
}

std::int64_t HostStep::bytes_of(DType type, DType gradient_type) {
  return 2 * portion * static_cast<std::int64_t>(size_of(type) + size_of(gradient_type));
}

void HostStep::run(const Stream& stream, const UpdateTensors& whole, const Update& update) {
  const bool master = !whole.weights.empty();
  const Tensor& weights = master ? whole.weights : whole.parameter;
  const std::int64_t n = weights.elements();
  const bool there = weights.space() == MemorySpace::device;
  before_.record(stream);
  down_.wait(before_);
  up_.wait(before_);
  const auto slot = [&](std::int64_t at) -> Slot& {
    return slots_[static_cast<std::size_t>(at / portion) % slots_.size()];
  };
  const auto count = [&](std::int64_t at) { return std::min(portion, n - at); };
  const auto fetch = [&](std::int64_t at) {
    Slot& to = slot(at);
    wait_(to.sent);
    copy(down_, to.gradient.tensor(gradient_type_, {count(at)}),
         whole.gradient.slice(0, at, count(at)));
    if (there && !master)
      copy(down_, to.weights.tensor(type_, {count(at)}), weights.slice(0, at, count(at)));
    to.arrived.record(down_);
  };
  fetch(0);
  for (std::int64_t at = 0; at < n; at += portion) {
    if (at + portion < n) fetch(at + portion);
    Slot& here = slot(at);
    const auto part = [&](const Tensor& of) {
      return of.empty() ? Tensor{} : of.slice(0, at, count(at));
    };
    const Tensor stepped = there ? here.weights.tensor(type_, {count(at)}) : part(weights);
    wait_(here.arrived);
    UpdateTensors portion{master ? part(whole.parameter) : stepped, master ? stepped : Tensor{},
                          here.gradient.tensor(gradient_type_, {count(at)}), whole.factor};
    std::ranges::transform(whole.states, portion.states.begin(), [&](const Tensor& of) {
      return of.empty() ? Tensor{} : state_portion(of, n, at, count(at));
    });
    update(portion, at);
    if (there) copy(up_, part(weights), stepped);
    here.sent.record(up_);
  }
  after_.record(up_);
  stream.wait(after_);
}

}  // namespace triax
