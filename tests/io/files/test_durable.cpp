// SPDX-License-Identifier: Apache-2.0
#include "io/files/durable.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::HasSubstr;

TEST(Durable, DirectoryOf) {
  EXPECT_EQ(directory_of("a/b/c.h5"), "a/b");
  EXPECT_EQ(directory_of("c.h5"), ".");
  EXPECT_EQ(directory_of("/c.h5"), "/");
}

TEST(Durable, RenameReplaces) {
  const TempDirectory dir;
  const std::string to = dir.file("to", "old");
  rename_durably(dir.file("from", "new"), to);
  EXPECT_EQ(contents(to), "new");
  EXPECT_FALSE(std::filesystem::exists(dir.path("from")));
  EXPECT_THAT(error_of([&] { rename_durably(dir.path("none"), to); }), HasSubstr("No such file"));
}

TEST(Durable, RenameKeepsWhatIsThereWhereAsked) {
  const TempDirectory dir;
  const std::string to = dir.file("to", "old");
  const std::string from = dir.file("from", "new");
  EXPECT_THAT(error_of([&] { rename_durably(from, to, Existing::kept); }),
              testing::AllOf(HasSubstr(to + " is there already"), HasSubstr("Give another name")));
  EXPECT_EQ(contents(to), "old");
  EXPECT_EQ(contents(from), "new");
  std::filesystem::create_symlink(dir.path("nothing"), dir.path("link"));
  EXPECT_THAT(error_of([&] { rename_durably(from, dir.path("link"), Existing::kept); }),
              HasSubstr("is there already"));
  rename_durably(from, dir.path("free"), Existing::kept);
  EXPECT_EQ(contents(dir.path("free")), "new");
}

TEST(Durable, WriteAllSaysHowFarItCame) {
  const TempDirectory dir;
  const std::string path = dir.file("a", "0123456789");
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const std::string text = "abc";
  std::int64_t at = 8;
  EXPECT_EQ(write_all(file, std::as_bytes(std::span(text)), at), 0);
  EXPECT_EQ(at, 11);
  EXPECT_EQ(contents(path), "01234567abc");
  {
    const FileSizeLimit limit(12);
    EXPECT_EQ(write_all(file, std::as_bytes(std::span(text)), at), EFBIG);
  }
  ::close(file);
  EXPECT_EQ(at, 12);  // space for one more byte was left
  EXPECT_EQ(contents(path), "01234567abca");
}

TEST(Durable, SyncOfAnAbsentFileFails) {
  const TempDirectory dir;
  EXPECT_NO_THROW(sync_path(dir.file("a", "x")));
  EXPECT_NO_THROW(sync_path(dir.path()));
  EXPECT_THAT(error_of([&] { sync_path(dir.path("none")); }), HasSubstr("none"));
}

TEST(Durable, ReservationKeepsTheDataAndSaysWhatIsMissing) {
  const TempDirectory dir;
  const std::string path = dir.file("a", "abc");
  reserve_space(path, 1 << 16);
  EXPECT_EQ(contents(path).substr(0, 3), "abc");
  const std::string vast = error_of([&] { reserve_space(path, std::int64_t{1} << 52); });
  EXPECT_THAT(vast, testing::AllOf(HasSubstr("No space left"), HasSubstr("are missing")));
  EXPECT_EQ(std::filesystem::file_size(path), 1U << 16);
  const FileSizeLimit limit(1 << 20);
  EXPECT_THAT(error_of([&] { reserve_space(path, 1 << 22); }), HasSubstr("4194304 bytes"));
}

TEST(Durable, RoomIsThatOfAllFilesTogether) {
  const TempDirectory dir;
  EXPECT_NO_THROW(require_room(dir.path(), 1 << 12));
  EXPECT_THAT(error_of([&] { require_room(dir.path(), std::int64_t{1} << 60); }),
              testing::AllOf(HasSubstr("no room for " + dir.path()), HasSubstr("are missing")));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace triax
