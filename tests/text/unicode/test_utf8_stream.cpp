// SPDX-License-Identifier: Apache-2.0
#include "src/text/unicode/utf8_stream.hpp"

#include <gtest/gtest.h>

#include <random>

namespace triax {
namespace {

TEST(Utf8Stream, TextIsTheSameHoweverItIsCut) {
  const std::string text = "a\u010d\u4e2d\U0001F600\u0800\uFFFDz";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    Utf8Stream stream;
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size)
      out += stream.next(text.substr(at, size));
    EXPECT_EQ(out + stream.rest(), text) << size;
  }
}

TEST(Utf8Stream, HoldsBackOnlyWhatMayBecomeACharacter) {
  Utf8Stream stream;
  EXPECT_EQ(stream.next("a\xf0\x9f"), "a");
  EXPECT_EQ(stream.next("\x98\x80"), "\U0001F600");
  EXPECT_EQ(stream.next("\xff"), "\uFFFD");
  EXPECT_EQ(stream.next("\xed\xa0"), "\uFFFD\uFFFD") << "a surrogate is none";
  EXPECT_EQ(stream.next("\xe0\x80"), "\uFFFD\uFFFD") << "nor is an overlong form";
  EXPECT_EQ(stream.next("\xf4\x90"), "\uFFFD\uFFFD") << "nor one above U+10FFFF";
  EXPECT_EQ(stream.next("\xe2\x82"), "");
  EXPECT_EQ(stream.next("x"), "\uFFFD\uFFFDx");
  EXPECT_EQ(stream.next("\xc4"), "");
  EXPECT_EQ(stream.rest(), "\uFFFD");
}

// At most 3 bytes wait, whatever comes.
TEST(Utf8Stream, RandomBytesPass) {
  std::mt19937 random(1);
  Utf8Stream stream;
  std::size_t in = 0, out = 0;
  for (int i = 0; i < 10000; ++i) {
    const char byte = static_cast<char>(random());
    ++in;
    out += code_points(stream.next({&byte, 1}));
    ASSERT_LE(out, in);
  }
  EXPECT_LE(code_points(stream.rest()), 3U);
}

}  // namespace
}  // namespace triax
