// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dispatch from a tensor's element type to a C++ type, so that a kernel is written once for all
// types.
#include <type_traits>

#include "kernels/base/tensor.hpp"

namespace triax {

/// A type as a function argument.
template <class T>
struct Type {
  using type = T;
};

/// body(Type<T>{}) with T = float, Bf16 or F16, the types of activations, weights and gradients:
///
///     with_type(x.dtype(), [&]<class T>(Type<T>) { ... x.as<T>() ... });
///
/// An internal error for any other type.
template <class Body>
decltype(auto) with_type(DType dtype, const Body& body) {
  check(dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16,
        "a kernel on {}, which computes on f32, bf16 and f16 only", name_of(dtype));
  if (dtype == DType::bf16) return body(Type<Bf16>{});
  if (dtype == DType::f16) return body(Type<F16>{});
  return body(Type<float>{});
}

/// body(Type<T>{}, Type<G>{}) for an operation on T that sums in G; G is float or T. An internal
/// error for any other pair.
template <class Body>
decltype(auto) with_types(DType dtype, DType sums, const Body& body) {
  check(sums == DType::f32 || sums == dtype, "sums of {} kept in {}, which must be f32 or the same",
        name_of(dtype), name_of(sums));
  return with_type(dtype, [&]<class T>(Type<T> type) {
    return sums == DType::f32 ? body(type, Type<float>{}) : body(type, type);
  });
}

}  // namespace triax
