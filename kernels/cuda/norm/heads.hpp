// SPDX-License-Identifier: Apache-2.0
#pragma once
// Heads of queries or keys as kernels read them: (N, G, D), strided over N and G.
#include "kernels/cuda/launch/views.hpp"

namespace triax::cuda {

struct HeadIndex {
  std::uint32_t row;
  std::uint32_t group;
};

/// N * G heads of D = `columns` elements each; head h is group h % G of row h / G.
template <class T>
struct StridedHeads {
  T* data;
  std::int64_t row_stride;
  std::int64_t group_stride;
  std::uint32_t rows;
  std::uint32_t groups;
  std::int32_t columns;

  TRIAX_DEVICE T* operator[](const HeadIndex& head) const {
    return data + head.row * row_stride + head.group * group_stride;
  }
  TRIAX_DEVICE HeadIndex index_of(std::int64_t head) const {
    const auto row = static_cast<std::uint32_t>(head) / groups;
    return {row, static_cast<std::uint32_t>(head) - row * groups};
  }
  TRIAX_HOST_DEVICE std::int64_t count() const { return std::int64_t{rows} * groups; }
};

template <class T>
StridedHeads<T> device_heads(const Tensor& tensor, const char* name) {
  constexpr std::int64_t most = 0x7fffffff;  // heads, and elements per row: numbers have 32 bits
  check_space(tensor, name);
  check(tensor.rank() == 3 && (tensor.stride(2) == 1 || tensor.size(2) <= 1),
        "{} of shape {} is not (N, G, D) with unit stride in D", name, tensor.shape());
  check(tensor.size(0) * tensor.size(1) <= most && tensor.size(1) * tensor.size(2) <= most,
        "{} of shape {} has too many heads", name, tensor.shape());
  return {tensor.as<T>(),
          tensor.stride(0),
          tensor.stride(1),
          static_cast<std::uint32_t>(tensor.size(0)),
          static_cast<std::uint32_t>(tensor.size(1)),
          static_cast<std::int32_t>(tensor.size(2))};
}

template <class T>
StridedHeads<T> device_heads_like(const Tensor& tensor, const StridedHeads<T>& like,
                                  const char* name) {
  const StridedHeads<T> heads = device_heads<T>(tensor, name);
  check(heads.rows == like.rows && heads.groups == like.groups && heads.columns == like.columns,
        "{} is {} and must be ({}, {}, {})", name, tensor.shape(), like.rows, like.groups,
        like.columns);
  return heads;
}

/// Whether 16-byte accesses may begin at every head and end with it.
template <class T>
bool aligned(const StridedHeads<T>& heads) {
  return aligned(heads.data) && heads.columns % wide<T> == 0 &&
         (heads.rows <= 1 || heads.row_stride % wide<T> == 0) &&
         (heads.groups <= 1 || heads.group_stride % wide<T> == 0);
}

}  // namespace triax::cuda
