// SPDX-License-Identifier: Apache-2.0
#include "io/files/fingerprint.hpp"

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t bytes = 1 << 20;

TEST(Fingerprint, IsTheSameOfCopies) {
  const TempDirectory directory;
  const std::string text(bytes, 'a');
  EXPECT_EQ(fingerprint(directory.file("a", text)), fingerprint(directory.file("b", text)));
}

TEST(Fingerprint, TellsSizesAndTheBeginMiddleAndEnd) {
  const TempDirectory directory;
  const std::string text(bytes, 'a');
  const std::string of_text = fingerprint(directory.file("a", text));
  for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
    std::string other = text;
    other[at] = 'b';
    EXPECT_NE(fingerprint(directory.file("b", other)), of_text) << at;
  }
  EXPECT_NE(fingerprint(directory.file("b", text + 'a')), of_text);
}

TEST(Fingerprint, OfSmallFilesIsOfAllTheyHave) {
  const TempDirectory directory;
  EXPECT_THAT(fingerprint(directory.file("a", "")), HasSubstr("0 bytes"));
  EXPECT_NE(fingerprint(directory.file("a", "x")), fingerprint(directory.file("b", "y")));
}

TEST(Fingerprint, SaysWhyThereIsNone) {
  const TempDirectory directory;
  EXPECT_EQ(fingerprint(directory.path("none")), "No such file or directory");
}

}  // namespace
}  // namespace triax::test
