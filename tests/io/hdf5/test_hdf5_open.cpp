// SPDX-License-Identifier: Apache-2.0
// Errors about files that HDF5 does not open, and the offset of HDF5's signature.
#include "io/hdf5/hdf5.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/io/hdf5_fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Hdf5Open, FindsTheSignatureBehindAUserBlock) {
  const TempDirectory dir;
  for (const hsize_t block : {0, 512, 1024, 2048, 4096, 65536}) {
    const std::string path = dir.path("a.h5");
    put(new_file(path, block), "/x", {1, 2});
    EXPECT_EQ(begin_of_hdf5(path), static_cast<std::int64_t>(block));
    EXPECT_EQ(File(path, File::Mode::read).shape("/x"), Shape{2});
  }
  EXPECT_EQ(begin_of_hdf5(dir.file("text", std::string(5000, 'a'))), -1);
  std::string elsewhere(700, 'a');
  elsewhere += "\x89HDF\r\n\x1a\n";
  EXPECT_EQ(begin_of_hdf5(dir.file("odd", elsewhere)), -1);
  EXPECT_EQ(begin_of_hdf5(dir.path("none")), -1);
}

TEST(Hdf5Open, AFileThatItsWriterLeftOpenIsNotCalledDamaged) {
  const TempDirectory dir;
  const std::string path = dir.path("left.h5");
  put_file_left_open(path, "/x", {1, 2});
  EXPECT_THAT(error_of([&] { File(path, File::Mode::read); }),
              AllOf(HasSubstr(path), HasSubstr("marked as open for writing"),
                    HasSubstr("`h5clear -s " + path + "`"), Not(HasSubstr("damaged"))));
  if (std::system("command -v h5clear > /dev/null") != 0) GTEST_SKIP() << "no h5clear";
  ASSERT_EQ(std::system(("h5clear -s " + path).c_str()), 0);
  const File cleared(path, File::Mode::read);
  EXPECT_NO_THROW(cleared.require_stored("/x", "tokens"));
  EXPECT_EQ(cleared.shape("/x"), Shape{2});
}

}  // namespace
}  // namespace triax::hdf5
