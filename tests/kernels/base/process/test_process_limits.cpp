// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/process_limits.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(SizeText, HasAUnitThatFits) {
  EXPECT_EQ(size_text(0.0), "0 bytes");
  EXPECT_EQ(size_text(768.0), "768 bytes");
  EXPECT_EQ(size_text(1536.0), "1.5 KiB");
  EXPECT_EQ(size_text(150000.0 * 1024.0), "146.5 MiB");
  EXPECT_EQ(size_text(1024.0 * 1024.0 * 1024.0), "1 GiB");
  EXPECT_EQ(size_text(3e15), "2.794e+06 GiB");
}

TEST(ProcessLimits, AreThoseOfThisProcess) {
  for (const ProcessLimit& limit : process_limits) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(limit.resource, &before), 0);
    EXPECT_EQ(bytes_of_limit(limit).has_value(), before.rlim_cur != RLIM_INFINITY) << limit.name;
    rlimit lower = before;
    lower.rlim_cur = rlim_t{1} << 46;
    if (before.rlim_cur < lower.rlim_cur) continue;
    ASSERT_EQ(::setrlimit(limit.resource, &lower), 0);
    EXPECT_EQ(bytes_of_limit(limit), static_cast<double>(lower.rlim_cur)) << limit.name;
    ::setrlimit(limit.resource, &before);
  }
}

}  // namespace
}  // namespace triax
