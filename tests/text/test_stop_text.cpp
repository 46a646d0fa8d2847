// SPDX-License-Identifier: Apache-2.0
#include "src/text/stop_text.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

// Text that passes when `text` comes in pieces of `size` bytes.
std::string passed(StopText stop, const std::string& text, std::size_t size) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += size) out += stop.next(text.substr(at, size));
  return out + stop.rest();
}

TEST(StopText, EndsBeforeTheFirstStopHoweverTheTextIsCut) {
  for (std::size_t size = 1; size <= 12; ++size) {
    EXPECT_EQ(passed(StopText({"\n\nQ:", "END"}), "two\n\nlines\n\nQ: more END", size),
              "two\n\nlines");
    EXPECT_EQ(passed(StopText({"aab"}), "aaab", size), "a") << "a stop that begins in another's";
    EXPECT_EQ(passed(StopText({"abc"}), "xxabab", size), "xxabab") << "no stop: all of it";
    EXPECT_EQ(passed(StopText({}), "all", size), "all");
    EXPECT_EQ(passed(StopText({"bcd", "c"}), "abcd", size), "ab") << "the first to be complete";
  }
}

TEST(StopText, HoldsBackOnlyWhatMayBeginAStop) {
  StopText stop({"<end>"});
  EXPECT_EQ(stop.next("text <"), "text ");
  EXPECT_EQ(stop.next("b> <en"), "<b> ");
  EXPECT_FALSE(stop.stopped());
  EXPECT_EQ(stop.next("d> more"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.next("more"), "");
  EXPECT_EQ(stop.rest(), "");
}

}  // namespace
}  // namespace triax
