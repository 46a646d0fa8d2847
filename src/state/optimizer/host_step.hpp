#pragma once
// AdamW on the host for parameters of a device whose optimizer state was offloaded (ZeRO-Offload,
// Ren et al. 2021): gradients come down and weights go up in portions, while the host steps
// another. Weights that are offloaded too are stepped where they are.
#include <array>

#include "kernels/optimizer/adamw.hpp"
#include "src/state/offload/staging.hpp"

namespace triax {

class HostStep {
 public:
  /// For weights and gradients of these types on a device. Takes pinned memory for two portions.
  HostStep(DType type, DType gradient_type, WaitForDevice wait = wait_alone);
  static std::int64_t bytes_of(DType type, DType gradient_type);

  /// As adamw(): `gradient` is the device's, `weights` its or the host's; `master` (empty where the
  /// weights are float32), `factor` and the moments the host's. What `stream` held before is done
  /// first, and what it does from here on sees the new weights. Returns when the host has stepped
  /// all.
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
  Event before_, after_;  // a step
  Stream down_, up_;
};

}  // namespace triax
