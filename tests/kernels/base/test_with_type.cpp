// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/with_type.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace triax {
namespace {

constexpr std::array float_types = {DType::f32, DType::bf16, DType::f16};
constexpr std::array other_types = {DType::f64, DType::i64, DType::i32, DType::u16, DType::u8};

TEST(WithType, FindsTheTypeOfEachFormat) {
  for (const DType dtype : float_types)
    EXPECT_EQ(with_type(dtype, []<class T>(Type<T>) { return dtype_of<T>(); }), dtype);
}

TEST(WithType, RefusesOtherTypes) {
  for (const DType dtype : other_types) EXPECT_THROW(with_type(dtype, [](auto) {}), Error);
}

TEST(WithTypes, SumsAreFloatOrTheSame) {
  const auto pair = []<class T, class G>(Type<T>, Type<G>) {
    return std::pair(dtype_of<T>(), dtype_of<G>());
  };
  for (const DType dtype : float_types)
    for (const DType sums : {DType::f32, dtype})
      EXPECT_EQ(with_types(dtype, sums, pair), std::pair(dtype, sums));
  EXPECT_THROW(with_types(DType::bf16, DType::f16, pair), Error);
  EXPECT_THROW(with_types(DType::f32, DType::bf16, pair), Error);
  EXPECT_THROW(with_types(DType::i32, DType::f32, pair), Error);
}

}  // namespace
}  // namespace triax
