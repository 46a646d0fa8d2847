// SPDX-License-Identifier: Apache-2.0
#include "io/files/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using test::TempDirectory;
using testing::HasSubstr;

TEST(MappedFile, HoldsTheFile) {
  const TempDirectory dir;
  MappedFile file(dir.file("a", "hello"));
  ASSERT_EQ(file.size(), 5u);
  EXPECT_EQ(std::memcmp(file.data(), "hello", 5), 0);
  const MappedFile moved = std::move(file);
  EXPECT_EQ(moved.size(), 5u);
  EXPECT_EQ(load<std::uint16_t>(moved.data() + 1), 'e' + 256 * 'l');
}

TEST(MappedFile, OfAPipeIsAnErrorAndDoesNotWait) {
  const TempDirectory dir;
  ASSERT_EQ(::mkfifo(dir.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(test::error_of([&] { MappedFile{dir.path("pipe")}; }), HasSubstr("pipe"));
}

TEST(MappedFile, WhatIsDroppedIsReadAgain) {
  const test::TempDirectory dir;
  const std::string bytes(64 << 20, 'x');
  const MappedFile file(dir.file("a", bytes));
  const auto before = test::mapped_in_memory();
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), reinterpret_cast<const char*>(file.data())));
  EXPECT_GT(test::mapped_in_memory(), before + (60 << 20));
  file.drop();
  EXPECT_LT(test::mapped_in_memory(), before + (4 << 20));
  EXPECT_EQ(std::to_integer<char>(file.data()[5]), 'x');
}

// Simulates training data that are overwritten in place, or on a failing disk.
TEST(MappedFileDeathTest, APageThatIsNotThereIsAnErrorThatNamesTheFile) {
  const TempDirectory dir;
  const std::string path = dir.file("tokens", std::string(1 << 16, 'x'));
  const auto read_shortened = [&] {
    name_unreadable_files();
    const MappedFile file(path);
    std::filesystem::resize_file(path, 0);
    std::exit(std::to_integer<int>(file.data()[1 << 15]));
  };
  EXPECT_EXIT(read_shortened(), testing::ExitedWithCode(3), "triax: cannot read " + path + " \\(");
}

// Simulates a container with a small /dev/shm: the error must not blame the disk.
TEST(MappedFileDeathTest, SharedMemoryThatIsUsedUpIsNoFileThatCannotBeRead) {
  const int fd = ::memfd_create("ranks", 0);
  ASSERT_EQ(::ftruncate(fd, 1 << 16), 0);
  const auto read_shortened = [&] {
    name_unreadable_files();
    const MappedFile file(fmt::format("/proc/self/fd/{}", fd));
    (void)!::ftruncate(fd, 0);
    std::exit(std::to_integer<int>(file.data()[1 << 15]));
  };
  EXPECT_EXIT(read_shortened(), testing::ExitedWithCode(3),
              "triax: no memory for a page of /memfd:ranks");
  ::close(fd);
}

TEST(MappedFile, AnEmptyFileIsEmpty) {
  const TempDirectory dir;
  EXPECT_TRUE(MappedFile(dir.file("a", "")).bytes().empty());
}

TEST(MappedFile, ErrorsNameTheFileAndTheReason) {
  const TempDirectory dir;
  EXPECT_THAT(test::error_of([&] { MappedFile(dir.path("none")); }),
              AllOf(HasSubstr("none"), HasSubstr("No such file")));
  EXPECT_THAT(test::error_of([&] { MappedFile(dir.path()); }), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace triax
