// What is said of files that HDF5 does not open, and where its data begin.
#include "io/hdf5.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/io/hdf5_fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;

TEST(Hdf5Open, FindsTheSignatureBehindAUserBlock) {
  const TempDirectory dir;
  for (const hsize_t block : {0, 512, 1024, 2048, 4096, 65536}) {
    const std::string path = dir.path("a.h5");
    put(new_file(path, block), "/x", {1, 2});
    EXPECT_EQ(begin_of_hdf5(path), static_cast<std::int64_t>(block));
    EXPECT_NO_THROW(File(path, File::Mode::read).shape("/x"));
  }
  EXPECT_EQ(begin_of_hdf5(dir.file("text", std::string(5000, 'a'))), -1);
  std::string elsewhere(700, 'a');
  elsewhere += "\x89HDF\r\n\x1a\n";
  EXPECT_EQ(begin_of_hdf5(dir.file("odd", elsewhere)), -1);
  EXPECT_EQ(begin_of_hdf5(dir.path("none")), -1);
}

}  // namespace
}  // namespace triax::hdf5
