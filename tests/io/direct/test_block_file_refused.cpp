// SPDX-License-Identifier: Apache-2.0
// BlockFile on systems that refuse io_uring, O_DIRECT or locked memory, as old kernels, containers
// and some file systems do.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <thread>
#include <vector>

#include "tests/io/block_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void expect_round_trip(BlockFile& file) {
  const Buffer from(std::size_t{5} << 20);
  const Buffer to(from.bytes());
  fill_random(bytes_in(from), 1);
  file.write(4096, bytes_in(from)).wait();
  file.read(4096, bytes_in(to)).wait();
  EXPECT_TRUE(std::ranges::equal(bytes_in(from), bytes_in(to)));
}

TEST(BlockFileRefused, WithoutIoUringThreadsDoIt) {
  const TempDirectory dir;
  for (const int error : {EPERM, ENOSYS, EACCES})
    with_refused(SYS_io_uring_setup, {}, error, [&] {
      BlockFile file(dir.file("blocks", ""), {.memory = {}});
      EXPECT_THAT(file.description(),
                  AllOf(HasSubstr("threads with pread and pwrite"),
                        HasSubstr(fmt::format("(io_uring: {})", std::strerror(error)))));
      expect_round_trip(file);
    });
}

TEST(BlockFileRefused, WithoutAnyThreadItSaysSo) {
  const TempDirectory dir;
  const std::string path = dir.file("blocks", "");
  with_refused(SYS_clone3, {}, EAGAIN, [&] {
    EXPECT_THAT(error_of([&] { BlockFile(path, {.memory = {}, .io_uring = false}); }),
                AllOf(HasSubstr("cannot start a thread"), HasSubstr("ulimit -u")));
  });
}

// The system refuses new thread stacks: only threads on cached stacks can start.
TEST(BlockFileRefused, WithFewThreadsThoseDoIt) {
  const TempDirectory dir;
  const std::string path = dir.file("blocks", "");
  {
    std::barrier all(3);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { all.arrive_and_wait(); });
  }
  with_refused(SYS_mmap, {.number = 3, .has = MAP_STACK}, ENOMEM, [&] {
    BlockFile file(path, {.queue_depth = 8, .memory = {}, .io_uring = false});
    EXPECT_THAT(file.description(), AllOf(HasSubstr("threads with"), Not(StartsWith("8"))));
    expect_round_trip(file);
  });
}

TEST(BlockFileRefused, WithoutDirectTransfersThePageCacheDoes) {
  const TempDirectory dir;
  with_refused(SYS_openat, {.number = 2, .has = O_DIRECT}, EINVAL, [&] {
    BlockFile file(dir.file("blocks", ""), {.memory = {}});
    EXPECT_THAT(file.description(), HasSubstr("page cache (O_DIRECT: Invalid argument)"));
    expect_round_trip(file);
  });
}

TEST(BlockFileRefused, WithoutLockedMemoryItIsNotRegistered) {
  const TempDirectory dir;
  const std::string path = dir.file("blocks", "");
  std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
  std::filesystem::permissions(path, std::filesystem::perms::all);
  const Buffer memory(std::size_t{8} << 20);
  const WithoutRights user;
  rlimit before{};
  ::getrlimit(RLIMIT_MEMLOCK, &before);
  rlimit limit = before;
  limit.rlim_cur = std::size_t{1} << 20;
  ::setrlimit(RLIMIT_MEMLOCK, &limit);
  {
    BlockFile file(path, {.memory = {bytes_in(memory)}});
    if (file.description().starts_with("io_uring")) {
      EXPECT_THAT(file.description(), HasSubstr("memory not registered (Cannot allocate memory)"));
    }
    expect_round_trip(file);
  }
  ::setrlimit(RLIMIT_MEMLOCK, &before);
}

TEST(BlockFileRefused, SaysWhatItUses) {
  const TempDirectory dir;
  const std::string path = dir.file("blocks", "");
  const BlockFile threads(path, {.queue_depth = 3, .memory = {}, .io_uring = false});
  EXPECT_THAT(threads.description(),
              AllOf(StartsWith("3 threads"), HasSubstr("blocks of 1048576 bytes")));
  const BlockFile usual(path, {.queue_depth = 3, .memory = {}});
  if (usual.description().starts_with("io_uring")) {
    EXPECT_THAT(usual.description(),
                AllOf(HasSubstr("up to 3 blocks in flight"), Not(HasSubstr("threads"))));
  }
}

}  // namespace
}  // namespace triax
