#pragma once
// Whether a step may change anything, and by which factor its gradients are clipped. On a device it
// is decided there, behind the backward pass, and the host, which reads the numbers when it likes,
// need not wait.
#include <array>
#include <memory>

#include "kernels/base/device/mirror.hpp"
#include "kernels/optimizer/norm.hpp"
#include "src/comm/interface/communicator.hpp"
#include "src/comm/watchdog/device_wait.hpp"

namespace triax {

/// Of the whole model.
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
  /// Once they have arrived, and before the step after the next begins.
  StepNumbers read() const;

 private:
  Tensor sums_;
  Event arrived_;
  ClipRule rule_;
};

class StepVerdict {
 public:
  /// In pieces of the part "numbers" of `source`.
  explicit StepVerdict(const MemorySource& source);
  /// Bytes of those pieces.
  static constexpr std::int64_t bytes() {
    return DeviceArena::footprint(2 * sizeof(double)) + DeviceArena::footprint(sizeof(float));
  }

  /// 0, behind what `stream` has; then the place for this rank's sum of squares, (1) float64.
  void begin(const Stream& stream) const;
  Tensor squares() const { return sums().slice(0, 0, 1); }
  /// What adamw() takes: where the parameters are, and on the host where the host decided.
  Tensor factor() const { return factor_.there().tensor(DType::f32, {1}); }
  Tensor host_factor() const { return factor_.here().tensor(DType::f32, {1}); }

  /// Waits for `stream`.
  double read_squares(const Stream& stream, const WaitForDevice& wait) const;
  /// By the host: `factor` for the steps of `stream` from here on; NaN: they change nothing.
  void decide(const Stream& stream, float factor) const;
  /// By the device. `loss`: this rank's part of it, (1) float64; empty: it has none. Collective
  /// over `all`. Behind a step that could not be used nothing changes until go_on().
  LateNumbers decide(const Stream& stream, Communicator& all, const Tensor& loss,
                     const ClipRule& rule);
  /// The host has seen that a step could not be used.
  void go_on(const Stream& stream) const { fill_zero(stream, factor()); }

 private:
  Tensor sums() const { return sums_.tensor(DType::f64, {2}); }

  Memory sums_;                 // {squares, loss}
  Mirror factor_;               // float32
  std::array<Buffer, 2> late_;  // sums for the host: of this step, and of the one before
  int step_ = 0;
};

}  // namespace triax
