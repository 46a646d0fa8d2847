// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operands of matmul in all types and layouts that it takes.
#include <cstdint>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax::test {

/// Layout of an operand: row-major, transposed, or columns of a wider matrix.
enum class Lie { plain, transposed, slice };

/// A (rows, columns) matrix of random elements in one of these layouts, rounded to `type`.
class Matrix {
 public:
  Matrix(std::int64_t rows, std::int64_t columns, Lie lie, unsigned seed, DType type = DType::f32)
      : width_(lie == Lie::slice ? columns + before + after : columns),
        values_(type, random_values(rows * width_ + 1,
                                    seed)) {  // one element more, so that the memory is never null
    if (lie == Lie::transposed)
      view_ = values_.tensor({columns, rows}).transposed();
    else
      view_ = values_.tensor({rows, width_});
    whole_ = view_;
    if (lie == Lie::slice) view_ = view_.slice(1, before, columns);
  }
  const Tensor& view() const { return view_; }
  /// Elements beside the columns of a slice, in its first row.
  std::vector<double> around() const {
    std::vector<double> row = to_double(whole_.slice(0, 0, 1));
    row.erase(row.begin() + before, row.begin() + before + view_.size(1));
    return row;
  }

 private:
  static constexpr std::int64_t before = 3;
  static constexpr std::int64_t after = 5;
  std::int64_t width_;
  Array values_;
  Tensor view_, whole_;
};

/// c = a b + bias or c += a b + bias, on the host or on a device.
inline void multiply(const Tensor& c, const Tensor& a, const Tensor& b,
                     const MatmulOptions& options = {}) {
  const auto kernel = [](const Stream& stream, const Tensor& to, const Tensor& left,
                         const Tensor& right, const Tensor& bias, bool accumulate) {
    matmul(stream, to, left, right, {.accumulate = accumulate, .bias = bias});
  };
  run(+kernel, c, a, b, options.bias, options.accumulate);
}

/// Types of a and b, of c, and of the bias.
struct Types {
  DType operands = DType::f32;
  DType c = DType::f32;
  DType bias = DType::f32;
};

inline constexpr DType f32 = DType::f32;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType f16 = DType::f16;
inline constexpr Types all_types[] = {{f32, f32, f32},   {bf16, bf16, bf16}, {bf16, bf16, f32},
                                      {bf16, f32, bf16}, {bf16, f32, f32},   {f16, f16, f16},
                                      {f16, f16, f32},   {f16, f32, f16},    {f16, f32, f32}};

}  // namespace triax::test
