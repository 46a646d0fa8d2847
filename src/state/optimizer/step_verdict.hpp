// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decides whether a step may change anything, and its clip factor. On a device the decision is made
// there, after the backward pass; the host reads the numbers later and need not wait.
#include <array>
#include <memory>

#include "kernels/base/device/mirror.hpp"
#include "kernels/optimizer/grad_norm.hpp"
#include "src/comm/interface/communicator.hpp"
#include "src/comm/watchdog/device_wait.hpp"

namespace triax {

/// Numbers of one step of the whole model.
struct StepNumbers {
  double loss_sum = 0.0;
  double grad_norm = 0.0;  // before clipping; not finite: the step changed nothing
};

/// The numbers of a step on their way to the host.
class LateNumbers {
 public:
  LateNumbers() = default;
  /// `sums`: {squares, loss} in pinned memory, complete after `arrived`.
  LateNumbers(const Tensor& sums, Event arrived, const ClipRule& rule)
      : sums_(sums), arrived_(std::move(arrived)), rule_(rule) {}
  bool pending() const { return sums_.data() != nullptr; }
  const Event& arrived() const { return arrived_; }
  /// Call once they have arrived, and before the step after the next begins.
  StepNumbers read() const;

 private:
  Tensor sums_;
  Event arrived_;
  ClipRule rule_;
};

class StepVerdict {
 public:
  /// Allocates in region "numbers" of `source`.
  explicit StepVerdict(const MemorySource& source);
  /// Bytes it takes there.
  static constexpr std::int64_t bytes() {
    return DeviceArena::footprint(2 * sizeof(double)) + DeviceArena::footprint(sizeof(float));
  }

  /// Zeroes the sums, after the work in `stream`; squares() then collects this rank's sum of
  /// squares, (1) float64.
  void begin(const Stream& stream) const;
  Tensor squares() const { return sums().slice(0, 0, 1); }
  /// The factor adamw() takes: in the parameters' space, and on the host if the host decided.
  Tensor factor() const { return factor_.there().tensor(DType::f32, {1}); }
  Tensor host_factor() const { return factor_.here().tensor(DType::f32, {1}); }

  /// This rank's sum of squares; waits for `stream`.
  double read_squares(const Stream& stream, const WaitForDevice& wait) const;
  /// Host decision: `factor` applies to later steps of `stream`; NaN: they change nothing.
  void decide(const Stream& stream, float factor) const;
  /// Device decision. Collective over `all`. `loss`: this rank's share of it, (1) float64; empty:
  /// none. After an unusable step nothing changes until rearm().
  LateNumbers decide(const Stream& stream, Communicator& all, const Tensor& loss,
                     const ClipRule& rule);
  /// Re-enables steps, after the host has seen that one was unusable.
  void rearm(const Stream& stream) const { fill_zero(stream, factor()); }

 private:
  Tensor sums() const { return sums_.tensor(DType::f64, {2}); }

  Memory sums_;    // {squares, loss}
  Mirror factor_;  // float32
  std::array<Buffer, 2>
      late_;  // copies of the sums for the host: of this step and of the previous one
  int step_ = 0;
};

}  // namespace triax
