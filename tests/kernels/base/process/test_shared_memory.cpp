// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/io/refused.hpp"

namespace triax {
namespace {

constexpr std::size_t bytes = 5000;

TEST(SharedMemory, IsTheSameForWhoOpensIt) {
  SharedMemory made = SharedMemory::make("triax-test", bytes);
  ASSERT_EQ(made.error(), 0);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(made.data()[i], std::byte{});
  const pid_t child = fork();
  if (child == 0) {  // as another process would
    const SharedMemory opened = SharedMemory::open(made.name(), bytes);
    if (opened.error() != 0 || opened.data() == made.data()) _exit(1);
    opened.data()[0] = std::byte{1};
    opened.data()[bytes - 1] = std::byte{2};
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(made.data()[0], std::byte{1});
  EXPECT_EQ(made.data()[bytes - 1], std::byte{2});
}

TEST(SharedMemory, StaysWithWhoHasIt) {
  SharedMemory opened;
  {
    SharedMemory made = SharedMemory::make("triax-test", bytes);
    opened = SharedMemory::open(made.name(), bytes);
    ASSERT_EQ(opened.error(), 0);
    made.data()[7] = std::byte{3};
    made.close_to_others();
    EXPECT_NE(SharedMemory::open(made.name(), bytes).error(), 0);
  }
  EXPECT_EQ(opened.data()[7], std::byte{3});
}

// A file of another boot, or one that has the number by chance, is not opened.
TEST(SharedMemory, IsKnownByMoreThanItsNumber) {
  const SharedMemory made = SharedMemory::make("triax-test", bytes);
  ASSERT_EQ(made.error(), 0);
  for (std::size_t word = 2; word < made.name().size(); ++word) {
    SharedMemory::Name other = made.name();
    ++other[word];
    const SharedMemory opened = SharedMemory::open(other, bytes);
    EXPECT_EQ(opened.error(), ESRCH) << word;
    EXPECT_EQ(opened.data(), nullptr);
  }
}

// Processes in a container have process numbers of their own.
TEST(SharedMemory, IsNotOpenedFromAnotherNamespace) {
  SharedMemory made = SharedMemory::make("triax-test", bytes);
  const SharedMemory::Home home = SharedMemory::home();
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID) != 0) _exit(2);
    const pid_t inside = fork();
    if (inside == 0) {
      const bool same = SharedMemory::home() == home;
      _exit(same || SharedMemory::open(made.name(), bytes).error() != ESRCH ? 1 : 0);
    }
    int status = -1;
    _exit(inside > 0 && waitpid(inside, &status, 0) == inside ? WEXITSTATUS(status) : 3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no namespace may be made here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Kernels before 6.3 cannot make memory files non-executable, and vm.memfd_noexec refuses
// executable ones.
TEST(SharedMemory, CannotBeExecutedWhereTheKernelKnowsThat) {
  constexpr test::RefusedArgument with = {.number = 1, .has = 8};
  test::with_refused(SYS_memfd_create, with, EINVAL,
                     [] { EXPECT_EQ(SharedMemory::make("triax-test", bytes).error(), 0); });
  const int known = ::memfd_create("triax-test", MFD_CLOEXEC | 8);
  if (known < 0) GTEST_SKIP() << "this kernel does not";
  ::close(known);
  constexpr test::RefusedArgument without = {.number = 1, .equals = MFD_CLOEXEC};
  test::with_refused(SYS_memfd_create, without, EACCES,
                     [] { EXPECT_EQ(SharedMemory::make("triax-test", bytes).error(), 0); });
}

TEST(SharedMemory, SaysWhyThereIsNone) {
  test::with_refused(SYS_memfd_create, {}, ENOSYS, [] {
    const SharedMemory none = SharedMemory::make("triax-test", bytes);
    EXPECT_EQ(none.error(), ENOSYS);
    EXPECT_EQ(none.data(), nullptr);
    EXPECT_EQ(none.name(), SharedMemory::Name{});
  });
  test::with_refused(SYS_fallocate, {}, ENOSPC,
                     [] { EXPECT_EQ(SharedMemory::make("triax-test", bytes).error(), ENOSPC); });
}

}  // namespace
}  // namespace triax
