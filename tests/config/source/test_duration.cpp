// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/duration.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(Duration, IsSeconds) {
  EXPECT_EQ(parse_duration("90"), 90.0);
  EXPECT_EQ(parse_duration("0"), 0.0);
  EXPECT_EQ(parse_duration("30s"), 30.0);
  EXPECT_EQ(parse_duration("0.5s"), 0.5);
  EXPECT_EQ(parse_duration("10m"), 600.0);
  EXPECT_EQ(parse_duration("2h"), 7200.0);
  EXPECT_EQ(parse_duration("1d"), 86400.0);
  EXPECT_EQ(parse_duration("1h30m"), 5400.0);
  EXPECT_EQ(parse_duration("1d2h3m4.5s"), 86400.0 + 7200.0 + 180.0 + 4.5);
}

TEST(Duration, IsNothingElse) {
  for (const char* text : {"", "s", "m10", "10x", "10 m", " 10m", "10m ", "-1s", "1h-30m", "30m1h",
                           "1h1h", "1h30", "1e3s", "nan", "inf", "infs", "nans", "10mm", "1..5s"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

}  // namespace
}  // namespace triax
