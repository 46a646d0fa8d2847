// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/say.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace triax {
namespace {

TEST(Say, WritesAFormattedText) {
  testing::internal::CaptureStderr();
  say("{} of {}\n", 1, 2);
  say_text("{}");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "1 of 2\n{}");
}

TEST(Say, GoesOnWhereNothingCanBeWritten) {
  const int before = dup(STDERR_FILENO);
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  dup2(full, STDERR_FILENO);
  EXPECT_NO_THROW(say("lost {}\n", 1));
  dup2(before, STDERR_FILENO);
  close(full);
  close(before);
}

}  // namespace
}  // namespace triax
