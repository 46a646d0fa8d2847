// SPDX-License-Identifier: Apache-2.0
#include "io/files/sha256.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

// Examples of FIPS 180-4, and lengths around the end of a chunk against sha256sum.
TEST(Sha256, EqualsTheStandard) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_of(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(sha256_of(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(sha256_of(std::string(63, 'x')),
            "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(sha256_of(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

TEST(Sha256, TakesBytesInParts) {
  Sha256 hash;
  for (int i = 0; i < 1000; ++i) hash.add(std::string(static_cast<std::size_t>(i % 7), 'a'));
  EXPECT_EQ(hash.hex(), sha256_of(std::string(2997, 'a')));
}

}  // namespace
}  // namespace triax
