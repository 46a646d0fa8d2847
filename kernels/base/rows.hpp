// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access of kernels to their tensors: checked once, then plain pointers.
#include "kernels/base/tensor.hpp"

namespace triax {

/// A matrix with unit column stride; it may be a column slice of a wider one.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  // elements from one row to the next

  constexpr T* operator[](std::int64_t row) const { return data + row * stride; }
};

/// The rows of a (N, E) tensor of T. An internal error names the tensor if it is not such a matrix.
template <class T = float>
Rows<T> rows_of(const Tensor& tensor, const char* name) {
  check(tensor.rank() == 2 && (tensor.stride(1) == 1 || tensor.size(1) <= 1),
        "{} of shape {} is not a matrix with unit column stride", name, tensor.shape());
  return {tensor.as<T>(), tensor.size(0), tensor.size(1), tensor.stride(0)};
}

/// The rows of a tensor that must have the shape and type of `like`.
template <class T>
Rows<T> rows_like(const Tensor& tensor, const Rows<T>& like, const char* name) {
  const Rows<T> rows = rows_of<T>(tensor, name);
  check(rows.rows == like.rows && rows.columns == like.columns, "{} is {} and must be ({}, {})",
        name, tensor.shape(), like.rows, like.columns);
  return rows;
}

/// The elements of a contiguous tensor of `count` elements of type T.
template <class T = float>
T* elements_of(const Tensor& tensor, std::int64_t count, const char* name) {
  check(tensor.contiguous() && tensor.elements() == count,
        "{} of shape {} must be {} contiguous elements", name, tensor.shape(), count);
  return tensor.as<T>();
}

}  // namespace triax
