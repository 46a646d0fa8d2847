#include "kernels/base/shared_memory.hpp"

#include <gtest/gtest.h>
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
  if (child == 0) {  // as another process does
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

// A file of another kernel, or one that has the number by chance, is not opened.
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
