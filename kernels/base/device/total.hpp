// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums that kernels accumulate in their stream's memory and the host reads now and then.
#include <span>

#include "kernels/base/device/mirror.hpp"

namespace triax {

class Total {
 public:
  /// `count` sums that start at 0, in region `part` of `source`.
  explicit Total(const MemorySource& source, std::string_view part = {}, std::int64_t count = 1)
      : count_(count), memory_(source, static_cast<std::size_t>(count) * sizeof(double), part) {}
  /// (count) float64. With one, as add_sum() takes it.
  Tensor tensor() const { return memory_.there().tensor(DType::f64, {count_}); }
  void clear(const Stream& stream) const { fill_zero(stream, tensor()); }
  /// The first sum after all work that `stream` has now; waits for it.
  double read(const Stream& stream) const { return read_all(stream).front(); }
  /// All sums; valid until the next call.
  std::span<const double> read_all(const Stream& stream) const {
    memory_.pull(stream);
    return {memory_.here().tensor(DType::f64, {count_}).as<double>(),
            static_cast<std::size_t>(count_)};
  }

 private:
  std::int64_t count_;
  Mirror memory_;
};

}  // namespace triax
