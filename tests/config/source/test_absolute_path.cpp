// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/absolute_path.hpp"

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
namespace fs = std::filesystem;

class AbsolutePath : public testing_support::JobFiles {};

TEST_F(AbsolutePath, BeginsAtTheRootAndHasNoDots) {
  const fs::path before = fs::current_path();
  fs::current_path(path(""));
  const std::string here = fs::current_path();
  write("a/b/file", "x");
  EXPECT_EQ(absolute_path("a/./b//file"), here + "/a/b/file");
  EXPECT_EQ(absolute_path("a/b/../b/file"), here + "/a/b/file");
  EXPECT_EQ(absolute_path("a/b/"), here + "/a/b");
  EXPECT_EQ(absolute_path("."), here);
  EXPECT_EQ(absolute_path("new/other/../x"), here + "/new/x") << "to be made";
  fs::current_path(before);
  EXPECT_EQ(absolute_path("/../.."), "/");
  EXPECT_EQ(absolute_path("/"), "/");
}

// The system resolves ".." to the directory above the link's target.
TEST_F(AbsolutePath, DotsBehindALinkLeadAboveItsTarget) {
  write("tree/data/train.bin", "right");
  write("data/train.bin", "wrong");
  fs::create_directories(path("tree/configs/deep"));
  fs::create_directory_symlink("tree/configs", path("configs"));
  fs::create_directory_symlink("tree/configs/deep", path("deep"));
  const std::string tree = fs::canonical(path("tree"));
  EXPECT_EQ(absolute_path(path("configs/../data/train.bin")), tree + "/data/train.bin");
  EXPECT_EQ(absolute_path(path("configs/deep/../../data/train.bin")), tree + "/data/train.bin");
  EXPECT_EQ(absolute_path(path("deep/../../data/train.bin")), tree + "/data/train.bin");
  EXPECT_EQ(absolute_path(path("configs/deep/..")), path("configs"));
  EXPECT_EQ(absolute_path(path("configs/new/../x")), path("configs/x"));
}

TEST_F(AbsolutePath, OtherLinksKeepTheirNames) {
  write("v1/train.bin", "x");
  fs::create_directory_symlink("v1", path("latest"));
  EXPECT_EQ(absolute_path(path("latest/train.bin")), path("latest/train.bin"));
}

TEST_F(AbsolutePath, DotsBehindALinkToNothingStay) {
  fs::create_symlink("gone", path("link"));
  EXPECT_EQ(absolute_path(path("link/../x")), path("link/../x"));
  EXPECT_EQ(absolute_path(path("link/../../x")), path("link/../../x"));
}

}  // namespace
}  // namespace triax
