#pragma once
// A sum that kernels make in the memory of their stream and that the host reads now and then.
#include "kernels/base/device/mirror.hpp"

namespace triax {

class Total {
 public:
  /// 0, in memory of `source`, of its part `part`.
  explicit Total(const MemorySource& source, std::string_view part = {})
      : memory_(source, sizeof(double), part) {}
  /// (1) float64: what add_sum and its like take.
  Tensor tensor() const { return memory_.there().tensor(DType::f64, {1}); }
  void clear(const Stream& stream) const { fill_zero(stream, tensor()); }
  /// Its value behind all work that `stream` has now; the caller waits for that.
  double read(const Stream& stream) const {
    memory_.pull(stream);
    return *memory_.here().tensor(DType::f64, {1}).as<double>();
  }

 private:
  Mirror memory_;
};

}  // namespace triax
