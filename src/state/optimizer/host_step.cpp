// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/host_step.hpp"

#include <algorithm>
#include <utility>

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

void HostStep::run(const Stream& stream, const Tensor& master, const Tensor& weights,
                   const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
                   const AdamWOptions& options) {
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
    copy(down_, to.gradient.tensor(gradient_type_, {count(at)}), gradient.slice(0, at, count(at)));
    if (there && master.empty())
      copy(down_, to.weights.tensor(type_, {count(at)}), weights.slice(0, at, count(at)));
    to.arrived.record(down_);
  };
  fetch(0);
  for (std::int64_t at = 0; at < n; at += portion) {
    if (at + portion < n) fetch(at + portion);
    Slot& here = slot(at);
    const auto part = [&](const Tensor& whole) { return whole.slice(0, at, count(at)); };
    const Tensor stepped = there ? here.weights.tensor(type_, {count(at)}) : part(weights);
    wait_(here.arrived);
    AdamWOptions of_part = options;
    if (of_part.stochastic) of_part.stochastic->offset += at;
    adamw(Stream(), master.empty() ? stepped : part(master), master.empty() ? Tensor{} : stepped,
          here.gradient.tensor(gradient_type_, {count(at)}), factor, part(m), part(v), of_part);
    if (there) copy(up_, part(weights), stepped);
    here.sent.record(up_);
  }
  after_.record(up_);
  stream.wait(after_);
}

}  // namespace triax
