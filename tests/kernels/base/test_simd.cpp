#include "kernels/base/simd.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(Simd, LargestLane) {
  for (int lane = 0; lane < vector_floats; ++lane) {
    FloatVector v = FloatVector{} - 3.0F;
    v[lane] = -2.0F;
    EXPECT_EQ(largest_lane(v), -2.0F);
  }
}

TEST(Simd, Transpose) {
  FloatVector rows[vector_floats];
  for (int r = 0; r < vector_floats; ++r)
    for (int c = 0; c < vector_floats; ++c) rows[r][c] = static_cast<float>(r * vector_floats + c);
  transpose(rows);
  for (int r = 0; r < vector_floats; ++r)
    for (int c = 0; c < vector_floats; ++c)
      EXPECT_EQ(rows[r][c], static_cast<float>(c * vector_floats + r));
}

}  // namespace
}  // namespace triax
