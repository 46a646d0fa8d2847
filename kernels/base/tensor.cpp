// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tensor.hpp"

#include <utility>

namespace triax {

Shape::Shape(std::initializer_list<std::int64_t> sizes) {
  for (std::int64_t size : sizes) push_back(size);
}

void Shape::push_back(std::int64_t size) {
  check(rank_ < max_rank, "a shape of more than {} dimensions", max_rank);
  check(size >= 0, "a dimension of size {}", size);
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

std::int64_t Shape::elements() const {
  std::int64_t n = 1;
  for (int d = 0; d < rank_; ++d) n *= (*this)[d];
  return n;
}

std::string Shape::text() const {
  std::string out = "(";
  for (int d = 0; d < rank_; ++d) out += (d ? ", " : "") + std::to_string((*this)[d]);
  return out + ")";
}

namespace {
Shape row_major(const Shape& shape) {
  Shape stride = shape;
  std::int64_t step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    stride[d] = step;
    step *= shape[d];
  }
  return stride;
}
}  // namespace

Tensor::Tensor(void* data, DType dtype, const Shape& shape, MemorySpace space)
    : data_(data), dtype_(dtype), space_(space), shape_(shape), stride_(row_major(shape)) {}

bool Tensor::contiguous() const {
  if (elements() == 0) return true;
  std::int64_t step = 1;
  for (int d = rank() - 1; d >= 0; --d) {
    if (size(d) != 1 && stride(d) != step) return false;
    step *= size(d);
  }
  return true;
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t count) const {
  check(dim >= 0 && dim < rank(), "slice of dimension {} of {}", dim, shape_);
  check(begin >= 0 && count >= 0 && begin + count <= size(dim), "slice [{}, {}) of {}", begin,
        begin + count, shape_);
  Tensor out = *this;
  if (data_) {
    const auto offset = begin * stride(dim) * static_cast<std::int64_t>(size_of(dtype_));
    out.data_ = static_cast<char*>(data_) + offset;
  }
  out.shape_[dim] = count;
  return out;
}

Tensor Tensor::transposed() const {
  check(rank() >= 2, "transposed view of {}", shape_);
  Tensor out = *this;
  std::swap(out.shape_[rank() - 1], out.shape_[rank() - 2]);
  std::swap(out.stride_[rank() - 1], out.stride_[rank() - 2]);
  return out;
}

Tensor Tensor::reshape(const Shape& shape) const {
  check(contiguous() && shape.elements() == elements(), "reshape of {} to {}", shape_, shape);
  return {data_, dtype_, shape, space_};
}

Tensor Tensor::restrided(const Shape& shape, const Shape& stride) const {
  check(shape.rank() == stride.rank(), "{} sizes with {} strides", shape.rank(), stride.rank());
  Tensor out = *this;
  out.shape_ = shape;
  out.stride_ = stride;
  return out;
}

}  // namespace triax
