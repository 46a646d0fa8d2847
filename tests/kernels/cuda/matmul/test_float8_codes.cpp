// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/matmul/float8_codes.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace triax::cuda {
namespace {

TEST(Float8Codes, APairIsTwoCodes) {
  for (const Float8 name : {Float8::e4m3, Float8::e5m2})
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const Float8Format format = format_of(name);
      const auto low = std::bit_cast<float>(bits << 16U);
      const auto high = std::bit_cast<float>((bits * 40503U & 0xffffU) << 16U);
      const unsigned codes = encode_pair(format, low, high);
      ASSERT_EQ(codes & 0xffU, encode(format, low)) << bits;
      ASSERT_EQ(codes >> 8U, encode(format, high)) << bits;
    }
}

}  // namespace
}  // namespace triax::cuda
