// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_costs.hpp"

#include "tests/support/matchers.hpp"

namespace triax::test {
namespace {

TEST(UsedByKind, WhatIsLeftOfThePeakIsMpis) {
  KindBytes allocated;
  allocated.parameters = 30 << 20;
  allocated.buffers = 20 << 20;
  allocated.communication = 7;  // planned, not counted
  const KindBytes used = used_by_kind(allocated, 60 << 20);
  EXPECT_EQ(used.communication, 10 << 20);
  EXPECT_EQ(used_text(used, 60 << 20),
            "60.0 MiB: parameters 30.0, buffers 20.0, communication 10.0");
  const KindBytes less = used_by_kind(allocated, 45 << 20);
  EXPECT_EQ(less.communication, 0);
  EXPECT_EQ(used_text(less, 45 << 20),
            "50.0 MiB: parameters 30.0, buffers 20.0; 5.0 MiB of it never were resident");
}

TEST(HiddenText, SaysWhatMessagesCost) {
  EXPECT_THAT(hidden_text(Axis::data, {4.0, 3.0}, 2.0), HasSubstr("100.0% of the time"));
  EXPECT_EQ(hidden_text(Axis::data, {4.0, 0.1}, 8.0),
            "messages of the data axis: 4 s under way, 0.1 s of it spent on them: 98% hidden, 1.2% "
            "of the time lost");
  EXPECT_THAT(hidden_text(Axis::tensor, {1.0, 1.0}, 2.0),
              AllOf(HasSubstr("tensor axis"), HasSubstr(" 0% hidden, 50.0% of")));
  EXPECT_EQ(hidden_text(Axis::data, {}, 8.0), "") << "there were none";
}

}  // namespace
}  // namespace triax::test
