// SPDX-License-Identifier: Apache-2.0
#include "src/comm/interface/message_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace triax {
namespace {

void pass() {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
}
constexpr double passed = 0.003;

TEST(MessageClock, TimesOfMessagesThatOverlapCountOnce) {
  MessageClock clock;
  clock.begins();
  clock.begins();
  pass();
  clock.ends();
  EXPECT_EQ(clock.times().under_way, 0.0) << "one is under way still";
  pass();
  clock.ends();
  const double first = clock.times().under_way;
  EXPECT_GE(first, 2 * passed);
  pass();  // no message is under way
  EXPECT_EQ(clock.times().under_way, first);
  clock.begins();
  clock.ends();
  EXPECT_GE(clock.times().under_way, first);
  EXPECT_EQ(clock.times().spent, 0.0);
}

TEST(MessageClock, CallsWithinCallsCountOnce) {
  MessageClock clock;
  {
    const MessageScope outer(&clock);
    pass();
    {
      const MessageScope inner(&clock);
      pass();
    }
    EXPECT_EQ(clock.times().spent, 0.0) << "the outer one lasts";
  }
  const double spent = clock.times().spent;
  EXPECT_GE(spent, 2 * passed);
  pass();
  EXPECT_EQ(clock.times().spent, spent);
  const MessageScope nowhere(nullptr);
}

TEST(MessageClock, TimesAddUp) {
  MessageTimes sum{1.0, 0.5};
  sum += {2.0, 0.25};
  EXPECT_EQ(sum.under_way, 3.0);
  EXPECT_EQ(sum.spent, 0.75);
}

}  // namespace
}  // namespace triax
