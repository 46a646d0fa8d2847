// SPDX-License-Identifier: Apache-2.0
#pragma once
// A view of memory as an array of up to four dimensions. It never owns; Buffer and Arena do.
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "kernels/base/check.hpp"
#include "kernels/base/dtype.hpp"

namespace triax {

enum class MemorySpace : std::uint8_t { host, device };

/// Sizes of up to four dimensions, outermost first.
class Shape {
 public:
  static constexpr int max_rank = 4;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);
  int rank() const { return rank_; }
  std::int64_t operator[](int dim) const { return sizes_[static_cast<std::size_t>(dim)]; }
  std::int64_t& operator[](int dim) { return sizes_[static_cast<std::size_t>(dim)]; }
  void push_back(std::int64_t size);
  std::int64_t elements() const;  // product of the sizes; 1 for rank 0
  bool operator==(const Shape&) const = default;
  std::string text() const;  // "(2, 3)"

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

}  // namespace triax

/// @cond doxygen knows no scope of fmt's
/// Shapes print as text(): a check that holds then builds no string.
template <>
struct fmt::formatter<triax::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const triax::Shape& shape, Context& context) const {
    const std::string text = shape.text();
    return std::copy(text.begin(), text.end(), context.out());
  }
};
/// @endcond

namespace triax {

/// View {data, dtype, shape, stride, space}; strides count elements.
class Tensor {
 public:
  Tensor() = default;
  /// A row-major (contiguous) view of `data`.
  Tensor(void* data, DType dtype, const Shape& shape, MemorySpace space = MemorySpace::host);
  /// A row-major view of typed host memory.
  template <class T>
  requires(!std::is_void_v<T> && !std::is_const_v<T>) Tensor(T* data, const Shape& shape)
      : Tensor(static_cast<void*>(data), dtype_of<T>(), shape) {}

  DType dtype() const { return dtype_; }
  MemorySpace space() const { return space_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size(int dim) const { return shape_[dim]; }
  std::int64_t stride(int dim) const { return stride_[dim]; }
  std::int64_t elements() const { return shape_.elements(); }
  std::int64_t bytes() const { return elements() * static_cast<std::int64_t>(size_of(dtype_)); }
  bool contiguous() const;
  bool empty() const { return data_ == nullptr || elements() == 0; }
  void* data() const { return data_; }
  /// The elements as T; fails where T is not the tensor's type.
  template <class T>
  T* as() const {
    check(dtype_of<std::remove_const_t<T>>() == dtype_, "tensor of {} read as {}", name_of(dtype_),
          name_of(dtype_of<std::remove_const_t<T>>()));
    return static_cast<T*>(data_);
  }

  /// Elements [begin, begin + count) of dimension `dim`.
  Tensor slice(int dim, std::int64_t begin, std::int64_t count) const;
  /// View with the last two dimensions swapped; moves no data.
  Tensor transposed() const;
  /// View of the same elements in another shape; this view must be contiguous.
  Tensor reshape(const Shape& shape) const;
  /// View of all elements as one dimension; this view must be contiguous.
  Tensor flat() const { return reshape({elements()}); }
  /// View with explicit strides (in elements) from this view's first element. Nothing is checked.
  Tensor restrided(const Shape& shape, const Shape& stride) const;

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::f32;
  MemorySpace space_ = MemorySpace::host;
  Shape shape_;
  Shape stride_;
};

}  // namespace triax
