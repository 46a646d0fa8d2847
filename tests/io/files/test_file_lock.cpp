// SPDX-License-Identifier: Apache-2.0
#include "io/files/file_lock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>

#include "kernels/base/check.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

constexpr std::chrono::milliseconds none{0};

TEST(DirectoryLock, KeepsASecondRunOutAndNamesTheFirst) {
  const TempDirectory directory;
  const DirectoryLock lock(directory.path(), "Wait");
  EXPECT_EQ(lock.refusal(), "");
  EXPECT_THAT(error_of([&] { DirectoryLock(directory.path(), "Wait", none); }),
              AllOf(HasSubstr(directory.path()), HasSubstr(fmt::format("process {}", getpid())),
                    HasSubstr(this_host()), HasSubstr("Wait")));
}

TEST(DirectoryLock, IsFreeAgainAfterwards) {
  const TempDirectory directory;
  { const DirectoryLock lock(directory.path(), "Wait"); }
  EXPECT_EQ(contents(directory.path(".lock")), "");
  EXPECT_EQ(DirectoryLock(directory.path(), "Wait").refusal(), "");
}

TEST(DirectoryLock, IsWaitedForAWhile) {
  const TempDirectory directory;
  auto first = std::make_unique<DirectoryLock>(directory.path(), "Wait");
  const auto begin = std::chrono::steady_clock::now();
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    first.reset();
  });
  EXPECT_EQ(DirectoryLock(directory.path(), "Wait", std::chrono::seconds(60)).refusal(), "");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  release.join();
}

TEST(DirectoryLock, OfADeadProcessIsNoObstacle) {
  const TempDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    const DirectoryLock lock(directory.path(), "Wait");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(contents(directory.path(".lock")), HasSubstr(fmt::format("process {}", child)));
  const DirectoryLock lock(directory.path(), "Wait");
  EXPECT_EQ(lock.refusal(), "");
  EXPECT_THAT(contents(directory.path(".lock")), HasSubstr(fmt::format("process {}", getpid())));
}

TEST(FileLock, MayLeaveNothing) {
  const TempDirectory directory;
  const std::string path = directory.path("c.h5.lock");
  const auto lock = [&](std::chrono::milliseconds patience) {
    return std::make_unique<FileLock>(path, "taken", "Wait", patience, FileLock::Leaves::nothing);
  };
  auto first = lock(none);
  EXPECT_THAT(error_of([&] { lock(none); }), StartsWith("taken (process "));
  first.reset();
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// A process waits for a lock while `what` changes the file and the holder releases it: its lock
// must keep a third process out.
void expect_lock_after(FileLock::Leaves leaves,
                       const std::function<void(const std::string&)>& what) {
  const TempDirectory directory;
  const std::string path = directory.path(".lock");
  const auto lock = [&](std::chrono::milliseconds patience) {
    return std::make_unique<FileLock>(path, "taken", "Wait", patience, leaves);
  };
  auto first = lock(none);
  std::unique_ptr<FileLock> second;
  std::thread waiting([&] { second = lock(std::chrono::seconds(60)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  what(path);
  first.reset();
  waiting.join();
  EXPECT_THAT(error_of([&] { lock(none); }), StartsWith("taken"));
}

// A lock on a file that its holder has removed is worthless: a third process would lock a new file
// of that name.
TEST(FileLock, OfARemovedFileDoesNotCount) {
  expect_lock_after(FileLock::Leaves::nothing, [](const std::string&) {});
}

// A network file system may show this: the locked file still has a link, but its path names another
// file.
TEST(FileLock, OfAFileOfAnotherNameDoesNotCount) {
  expect_lock_after(FileLock::Leaves::file, [](const std::string& path) {
    std::filesystem::rename(path, path + "-aside");
  });
}

TEST(DirectoryLock, NamesAHolderOnAnotherHostThatDidNotLeaveByItself) {
  const TempDirectory directory;
  directory.file(".lock", "process 7 on elsewhere\n");
  {
    const DirectoryLock lock(directory.path(), "Wait");
    EXPECT_EQ(lock.left_by(), "process 7 on elsewhere");
    EXPECT_EQ(lock.refusal(), "");
  }
  EXPECT_EQ(DirectoryLock(directory.path(), "Wait").left_by(), "") << "this one did";
  directory.file(".lock", fmt::format("process 7 on {}\n", this_host()));
  EXPECT_EQ(DirectoryLock(directory.path(), "Wait").left_by(), "") << "its lock would be seen";
}

TEST(NodeLocalLocks, AreThoseOfTheInnermostMount) {
  const auto found = [](const std::string& path) {
    std::istringstream mounts(
        "/dev/sda / ext4 rw,relatime 0 0\n"
        "a@o2ib:/work /work lustre rw,localflock,lazystatfs 0 0\n"
        "a@o2ib:/safe /work/safe lustre rw,flock 0 0\n"
        "b:/home /my\\040home nfs rw,vers=3,local_lock=flock,addr=10.0.0.1 0 0\n"
        "b:/old /old nfs rw,nolock,local_lock=all 0 0\n"
        "b:/old /old nfs4 rw,local_lock=none 0 0\n");
    return node_local_locks(path, mounts);
  };
  EXPECT_EQ(found("/work/run/.lock"), "localflock");
  EXPECT_EQ(found("/work/safe/run/.lock"), "");
  EXPECT_EQ(found("/workers/.lock"), "");
  EXPECT_EQ(found("/my home/run/.lock"), "local_lock=flock");
  EXPECT_EQ(found("/old/run/.lock"), "") << "another was mounted over it";
}

TEST(DirectoryLock, SaysWhyThereIsNone) {
  const TempDirectory directory;
  std::filesystem::create_directory(
      directory.path(".lock"));  // a directory cannot be opened for writing
  const DirectoryLock lock(directory.path(), "Wait");
  EXPECT_THAT(lock.refusal(), HasSubstr(".lock"));
}

}  // namespace
}  // namespace triax::test
