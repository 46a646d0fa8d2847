#pragma once
// Where a loss or gradient that is not finite began.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "kernels/base/device/total.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Whether values are finite, wherever they are. It allocates nothing, and waits for a device as
/// ProcessGrid::drain does: messages of other ranks may be under way.
class FiniteTest {
 public:
  /// In memory of `source`, of its part "numbers".
  FiniteTest(const MemorySource& source, ProcessGrid& grid)
      : grid_(grid), sum_(source, "numbers") {}
  /// Bytes of that.
  static constexpr std::int64_t bytes() { return DeviceArena::footprint(sizeof(double)); }
  /// True of no values.
  bool operator()(const Stream& stream, const Tensor& values) const;

 private:
  ProcessGrid& grid_;
  Total sum_;  // of squares
};

/// Looks at what each layer makes while a step is run once more, and keeps the first that is not
/// finite: in the order of the forward pass an output, else in that of the backward pass the
/// gradient of an input.
class NonFiniteSearch {
 public:
  explicit NonFiniteSearch(const FiniteTest& finite) : finite_(finite) {}
  /// `chunk`: in the model, not the stage. `values`: empty where the layer makes none.
  void forward(const Stream& stream, int chunk, int layer, const std::string& name,
               const Tensor& values);
  void backward(const Stream& stream, int chunk, int layer, const std::string& name,
                const Tensor& values);
  void loss(double value, int chunk, int layer);

  /// Of all ranks: "the output of block 3, on rank 5 (...)". Collective.
  std::string first(ProcessGrid& grid) const;

 private:
  void found(std::int64_t order, const std::string& what);

  static constexpr std::int64_t none = INT64_MAX;
  const FiniteTest& finite_;
  std::int64_t order_ = none;  // in the order of the passes
  std::string what_;
};

/// For people: a NaN whose sign bit is set is printed as "-nan".
inline double without_sign_of_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

/// Whether all weights of the model are finite, wherever they are. Collective.
bool finite_weights(const FiniteTest& finite, const Stream& stream, ParameterStore& store,
                    ProcessGrid& grid);

}  // namespace triax
