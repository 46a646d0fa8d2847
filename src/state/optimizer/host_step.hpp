// SPDX-License-Identifier: Apache-2.0
#pragma once
// An update on the host for parameters of a device whose optimizer state was offloaded
// (ZeRO-Offload, Ren et al. 2021). Gradients come down and weights go up in portions while the host
// steps another portion. Weights that are offloaded too are stepped in place.
#include <array>
#include <functional>

#include "src/state/offload/staging.hpp"
#include "src/state/optimizer/rules/rules.hpp"

namespace triax {

class HostStep {
 public:
  /// `type`, `gradient_type`: of weights and gradients. Takes pinned memory for two portions.
  HostStep(DType type, DType gradient_type, WaitForDevice wait = wait_alone);
  static std::int64_t bytes_of(DType type, DType gradient_type);

  /// Steps a portion in host memory. `offset`: of its first element in the whole.
  using Update = std::function<void(const UpdateTensors& portion, std::int64_t offset)>;
  /// Calls `update` for all portions of `whole`: its gradient is on the device, its weights (if
  /// they are float32, its parameter) on the device or the host, all else on the host. Runs after
  /// the work issued to `stream` so far; later work on `stream` sees the new weights. Returns once
  /// the host has stepped everything.
  void run(const Stream& stream, const UpdateTensors& whole, const Update& update);

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
