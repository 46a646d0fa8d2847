#include "io/mapped_file.hpp"

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
