#include "io/directory_lock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "kernels/base/check.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

TEST(DirectoryLock, KeepsASecondRunOutAndNamesTheFirst) {
  const TempDirectory directory;
  const DirectoryLock lock(directory.path(), "Wait");
  EXPECT_EQ(lock.refusal(), "");
  EXPECT_THAT(error_of([&] { DirectoryLock(directory.path(), "Wait"); }),
              AllOf(HasSubstr(directory.path()), HasSubstr(fmt::format("process {}", getpid())),
                    HasSubstr(this_host()), HasSubstr("Wait")));
}

TEST(DirectoryLock, IsFreeAgainAfterwards) {
  const TempDirectory directory;
  { const DirectoryLock lock(directory.path(), "Wait"); }
  EXPECT_EQ(contents(directory.path(".lock")), "");
  EXPECT_NO_THROW(DirectoryLock(directory.path(), "Wait"));
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

TEST(DirectoryLock, SaysWhyThereIsNone) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.path(".lock"));  // cannot be opened for writing
  const DirectoryLock lock(directory.path(), "Wait");
  EXPECT_THAT(lock.refusal(), HasSubstr(".lock"));
}

}  // namespace
}  // namespace triax::test
