// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors as kernel bodies read them: rows as in rows.hpp, checked to lie in device memory.
#include "kernels/base/rows.hpp"
#include "kernels/cuda/launch/pack.hpp"

namespace triax::cuda {

inline void check_space(const Tensor& tensor, const char* name) {
  check(tensor.space() == MemorySpace::device, "{} in host memory, given to a kernel of the device",
        name);
}

template <class T = float>
Rows<T> device_rows(const Tensor& tensor, const char* name) {
  check_space(tensor, name);
  return triax::rows_of<T>(tensor, name);
}

template <class T>
Rows<T> device_rows_like(const Tensor& tensor, const Rows<T>& like, const char* name) {
  check_space(tensor, name);
  return triax::rows_like(tensor, like, name);
}

template <class T = float>
T* device_elements(const Tensor& tensor, std::int64_t count, const char* name) {
  check_space(tensor, name);
  return triax::elements_of<T>(tensor, count, name);
}

/// Whether 16-byte accesses may begin at `data`, or at the beginning of every row.
inline bool aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}
template <class T>
bool aligned(const Rows<T>& rows) {
  return aligned(rows.data) && (rows.rows <= 1 || rows.stride % wide<T> == 0);
}

/// Calls body(std::bool_constant<allowed>{}).
template <class Body>
void with_bool(bool allowed, const Body& body) {
  if (allowed)
    body(std::true_type{});
  else
    body(std::false_type{});
}

/// Calls body(Width<n>{}) with n = `width` if accesses may be that wide, else 1.
template <int width, class Body>
void with_width(bool allowed, const Body& body) {
  if (allowed)
    body(Width<width>{});
  else
    body(Width<1>{});
}

}  // namespace triax::cuda
