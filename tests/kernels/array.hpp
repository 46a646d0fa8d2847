// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of a kernel's element type, chosen at run time: a test takes the type as a parameter and
// runs once per type.
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <vector>

#include "kernels/base/with_type.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {

/// Name of a parameter in GoogleTest's output.
inline void PrintTo(DType dtype, std::ostream* out) {
  *out << name_of(dtype);
}

}  // namespace triax

namespace triax::test {

/// Every type of activations and weights.
inline auto every_type() {
  return testing::Values(DType::f32, DType::bf16, DType::f16);
}

/// A type of activations and weights, with a type in which their gradients may be summed.
struct TypePair {
  DType type, gradients;
};
inline void PrintTo(const TypePair& pair, std::ostream* out) {
  *out << name_of(pair.type) << " with gradients in " << name_of(pair.gradients);
}
inline auto every_type_pair() {
  return testing::Values(TypePair{DType::f32, DType::f32}, TypePair{DType::bf16, DType::bf16},
                         TypePair{DType::bf16, DType::f32}, TypePair{DType::f16, DType::f16},
                         TypePair{DType::f16, DType::f32});
}

/// Largest relative error of rounding a float32 to `dtype`. A result of that type may be off by
/// this much beyond the kernel's tolerance in float32.
inline double rounding_of(DType dtype) {
  return dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : 0.0;
}

/// Tolerance of a kernel that uses coarse_math.hpp for results of 16 bits: `in_float` for float32,
/// else the tolerance of coarse math.
inline double with_coarse_math(DType dtype, double in_float) {
  return dtype == DType::f32 ? in_float : 6e-5;
}

/// Contiguous elements of type `dtype`.
class Array {
 public:
  /// `values` rounded to `dtype`.
  Array(DType dtype, const std::vector<float>& values)
      : dtype_(dtype),
        count_(static_cast<std::int64_t>(values.size())),
        memory_(values.size() * size_of(dtype)) {
    with_type(dtype, [&]<class T>(Type<T>) {
      for (std::size_t i = 0; i < values.size(); ++i) tensor().as<T>()[i] = T(values[i]);
    });
  }
  /// `count` elements equal to `value`.
  Array(DType dtype, std::int64_t count, float value = 0.0F)
      : Array(dtype, std::vector<float>(static_cast<std::size_t>(count), value)) {}

  /// `count` normally distributed elements.
  static Array random(DType dtype, std::int64_t count, unsigned seed, float deviation = 1.0F) {
    std::vector<float> values = random_values(count, seed);
    for (float& value : values) value *= deviation;
    return Array(dtype, values);
  }

  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  Tensor tensor() { return tensor({count_}); }
  Tensor tensor(const Shape& shape) { return Tensor(memory_.data(), dtype_, shape); }

  std::vector<float> floats() const {
    std::vector<float> out(static_cast<std::size_t>(count_));
    with_type(dtype_, [&]<class T>(Type<T>) {
      const auto* from = reinterpret_cast<const T*>(memory_.data());
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = from[i];
    });
    return out;
  }
  /// The elements, exactly, as the oracles take them.
  std::vector<double> doubles() const {
    const std::vector<float> narrow = floats();
    return {narrow.begin(), narrow.end()};
  }
  /// Compares bit for bit.
  bool operator==(const Array&) const = default;

 private:
  DType dtype_;
  std::int64_t count_;
  std::vector<unsigned char> memory_;
};

inline void PrintTo(const Array& array, std::ostream* out) {
  *out << name_of(array.dtype()) << " " << testing::PrintToString(array.floats());
}

/// The array's values spread out like `spread` of compare.hpp.
inline Array spread(const Array& array, std::int64_t columns, std::int64_t stride, float fill) {
  return Array(array.dtype(), spread(array.floats(), static_cast<std::size_t>(columns),
                                     static_cast<std::size_t>(stride), fill));
}

/// sum += values, element by element.
inline void add(std::vector<double>& sum, const std::vector<double>& values) {
  ASSERT_EQ(sum.size(), values.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
}

/// expect_close() for `array`, allowing for the rounding to its type beyond `tolerance`.
inline void expect_close(const Array& array, const std::vector<double>& expected, double tolerance,
                         std::string_view name) {
  expect_close(array.doubles(), expected, tolerance + rounding_of(array.dtype()), name);
}

}  // namespace triax::test
