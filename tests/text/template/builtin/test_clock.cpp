// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/text/template/value/fault.hpp"
#include "tests/support/error_of.hpp"

namespace triax::jinja {
namespace {

// Answers of Python's strftime in the C locale.
TEST(Clock, FormatsAsPython) {
  const Clock noon{2024, 2, 29, 12, 5, 9}, night{2026, 12, 1, 0, 0, 0};
  EXPECT_EQ(format_clock(noon, "%d %b %Y|%A %a %B|%j %y %I %p|%H:%M:%S|%F %T|%%"),
            "29 Feb 2024|Thursday Thu February|060 24 12 PM|12:05:09|2024-02-29 12:05:09|%");
  EXPECT_EQ(format_clock(night, "%-d.%-m. %e %I %p %j"), "1.12.  1 12 AM 335");
  EXPECT_THROW(format_clock(noon, "%Q"), Fault);
  EXPECT_THROW(format_clock(noon, "100%"), Fault);
}

TEST(Clock, ReadsDates) {
  EXPECT_EQ(clock_text(parse_clock("2026-01-31", "d")), "2026-01-31T00:00:00");
  EXPECT_EQ(clock_text(parse_clock("2026-01-31T23:59:58", "d")), "2026-01-31T23:59:58");
  for (const char* wrong : {"", "2026", "2026-02-30", "2026-01-31T25:00:00", "2026-01-31x",
                            "31.1.2026", "2026-01-31T1"})
    EXPECT_THAT(test::error_of([&] { parse_clock(wrong, "data.template_date"); }),
                testing::HasSubstr("data.template_date \"" + std::string(wrong) + "\" is no date"));
  EXPECT_GE(clock_now().year, 2024);
}

}  // namespace
}  // namespace triax::jinja
