// SPDX-License-Identifier: Apache-2.0
#include "io/files/append_file.hpp"

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

TEST(AppendFile, GrowsBehindWhatIsThere) {
  const TempDirectory directory;
  const std::string path = directory.path("file");
  {
    AppendFile file(path);
    file.append("one\n");
    file.sync();
    file.append("two\n");
    EXPECT_EQ(contents(path), "one\ntwo\n") << "nothing waits in a buffer";
  }
  AppendFile file(path);
  EXPECT_EQ(file.bytes(), 8);
  file.append("thr");
  file.cut(4);
  file.append("two again\n");
  EXPECT_EQ(file.bytes(), 14);
  EXPECT_EQ(contents(path), "one\ntwo again\n");
}

TEST(AppendFile, SaysWhyItCannotBeOpened) {
  EXPECT_THAT(error_of([] { AppendFile("/no/such/directory/file"); }),
              testing::AllOf(testing::HasSubstr("/no/such/directory/file"),
                             testing::HasSubstr("No such file")));
}

}  // namespace
}  // namespace triax::test
