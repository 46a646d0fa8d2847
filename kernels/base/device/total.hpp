// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sum that kernels accumulate in their stream's memory and the host reads now and then.
#include "kernels/base/device/mirror.hpp"

namespace triax {

class Total {
 public:
  /// Starts at 0, in region `part` of `source`.
  explicit Total(const MemorySource& source, std::string_view part = {})
      : memory_(source, sizeof(double), part) {}
  /// (1) float64, as add_sum() takes it.
  Tensor tensor() const { return memory_.there().tensor(DType::f64, {1}); }
  void clear(const Stream& stream) const { fill_zero(stream, tensor()); }
  /// The sum after all work that `stream` has now; waits for it.
  double read(const Stream& stream) const {
    memory_.pull(stream);
    return *memory_.here().tensor(DType::f64, {1}).as<double>();
  }

 private:
  Mirror memory_;
};

}  // namespace triax
