// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/utf8.hpp"

#include <gtest/gtest.h>

namespace triax::test {
namespace {

TEST(Utf8, IsCheckedRepairedAndWritten) {
  const auto repaired = [](std::string_view text) {
    std::string out;
    append_repaired(text, out);
    return out;
  };
  const std::string mark(replacement_character);
  EXPECT_EQ(valid_utf8("plain and \xc3\xa9 and \xf4\x8f\xbf\xbf"), 21U);
  EXPECT_EQ(valid_utf8("0123456789\xff"), 10U);
  EXPECT_EQ(repaired("a\xff"
                     "b"),
            "a" + mark + "b");
  EXPECT_EQ(repaired("\xed\xa0\x80"), mark + mark + mark);             // a surrogate
  EXPECT_EQ(repaired("\xe2\x82"), mark);                               // truncated
  EXPECT_EQ(repaired("\xc0\xaf"), mark + mark);                        // overlong
  EXPECT_EQ(repaired("\xf4\x90\x80\x80"), mark + mark + mark + mark);  // beyond U+10FFFF
  std::string text;
  for (const char32_t code : {U'A', U'\u00e9', U'\u20ac', U'\U0001f600'}) append_utf8(text, code);
  EXPECT_EQ(text, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_TRUE(is_utf8("\xef\xbf\xbd"));
  EXPECT_FALSE(is_utf8("\xef\xbf"));
}

}  // namespace
}  // namespace triax::test
