// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search for the layer where a loss or gradient that is not finite began.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "kernels/base/device/total.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Tests whether values are finite, on host or device. Allocates nothing. Waits for a device as
/// ProcessGrid::drain does, because messages of other ranks may be under way.
class FiniteTest {
 public:
  /// Takes bytes() from the region "numbers" of `source`.
  FiniteTest(const MemorySource& source, ProcessGrid& grid)
      : grid_(grid), sum_(source, "numbers") {}
  static constexpr std::int64_t bytes() { return DeviceArena::footprint(sizeof(double)); }
  /// True for an empty tensor.
  bool operator()(const Stream& stream, const Tensor& values) const;

 private:
  ProcessGrid& grid_;
  Total sum_;  // of squares
};

/// Looks at the tensors that each layer makes while a step is run again, and keeps the first that
/// is not finite: an output in the order of the forward pass, otherwise the gradient of an input in
/// the order of the backward pass.
class NonFiniteSearch {
 public:
  explicit NonFiniteSearch(const FiniteTest& finite) : finite_(finite) {}
  /// `chunk`: number in the model, not in the stage. `values`: empty where the layer makes none.
  void forward(const Stream& stream, int chunk, int layer, const std::string& name,
               const Tensor& values);
  void backward(const Stream& stream, int chunk, int layer, const std::string& name,
                const Tensor& values);
  void loss(double value, int chunk, int layer);

  /// First finding over all ranks: "the output of block 3, on rank 5 (...)". Collective.
  std::string first(ProcessGrid& grid) const;

 private:
  void found(std::int64_t order, const std::string& what);

  static constexpr std::int64_t none = INT64_MAX;
  const FiniteTest& finite_;
  std::int64_t order_ = none;  // in the order of the passes
  std::string what_;
};

/// NaN without its sign bit, which would be printed as "-nan".
inline double without_sign_of_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

/// Whether all weights of the model are finite, on host or device. Collective.
bool finite_weights(const FiniteTest& finite, const Stream& stream, ParameterStore& store,
                    ProcessGrid& grid);

}  // namespace triax
