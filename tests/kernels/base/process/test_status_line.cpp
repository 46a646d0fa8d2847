// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/status_line.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace triax {
namespace {

// Text that `lines` writes to a standard error that is a terminal.
template <class Lines>
std::string on_terminal(const Lines& lines) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_TRUE(grantpt(master) == 0 && unlockpt(master) == 0);
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  const int before = dup(STDERR_FILENO);
  dup2(slave, STDERR_FILENO);
  lines();
  dup2(before, STDERR_FILENO);
  close(before);
  std::string out(1024, '\0');
  const ssize_t bytes = read(master, out.data(), out.size());
  out.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  close(slave);
  close(master);
  return out;
}

TEST(StatusLine, IsRewrittenAndClearedOnATerminal) {
  EXPECT_EQ(on_terminal([] {
              StatusLine line(true);
              EXPECT_TRUE(line.due());
              line.show("10%");
              line.show("20%");
            }),
            "\r\033[K10%\r\033[K20%\r\033[K");
}

TEST(StatusLine, ComesSeldomElsewhere) {
  testing::internal::CaptureStderr();
  {
    StatusLine line(true);
    EXPECT_FALSE(line.due()) << "the first after 10 s";
    line.show("10%");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(StatusLine, IsNotShownUnasked) {
  EXPECT_EQ(on_terminal([] {
              StatusLine line(false);
              EXPECT_FALSE(line.due());
              line.show("10%");
              // A read of the terminal needs something to end.
              EXPECT_EQ(write(STDERR_FILENO, ".", 1), 1);
            }),
            ".");
}

}  // namespace
}  // namespace triax
