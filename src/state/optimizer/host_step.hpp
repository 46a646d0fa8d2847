// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW on the host for parameters of a device whose optimizer state was offloaded (ZeRO-Offload,
// Ren et al. 2021). Gradients come down and weights go up in portions while the host steps another
// portion. Weights that are offloaded too are stepped in place.
#include <array>

#include "kernels/optimizer/adamw.hpp"
#include "src/state/offload/staging.hpp"

namespace triax {

class HostStep {
 public:
  /// `type`, `gradient_type`: of weights and gradients. Takes pinned memory for two portions.
  HostStep(DType type, DType gradient_type, WaitForDevice wait = wait_alone);
  static std::int64_t bytes_of(DType type, DType gradient_type);

  /// As adamw(). `gradient` is on the device, `weights` on the device or the host; `master` (empty
  /// if the weights are float32), `factor` and the moments are on the host. Runs after the work
  /// issued to `stream` so far; later work on `stream` sees the new weights. Returns once the host
  /// has stepped everything.
  void run(const Stream& stream, const Tensor& master, const Tensor& weights,
           const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
           const AdamWOptions& options);

 private:
  static constexpr std::int64_t portion = staged_elements;
  struct Slot {
    Buffer weights, gradient;
    Event arrived, sent;
  };

  DType type_, gradient_type_;
  WaitForDevice wait_;
  std::array<Slot, 2> slots_;
  Event before_, after_;  // around one step
  Stream down_, up_;
};

}  // namespace triax
