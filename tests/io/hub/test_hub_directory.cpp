// SPDX-License-Identifier: Apache-2.0
#include "io/hub/hub_directory.hpp"

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class HubDirectory : public testing::Test {
 protected:
  HubDirectory() { fs::create_directories(model_ / "refs"); }
  void snapshot(const std::string& commit) const {
    fs::create_directories(model_ / "snapshots" / commit);
  }
  TempDirectory directory_;
  fs::path model_ = directory_.path("models--org--name");
};

TEST_F(HubDirectory, IsTheSnapshotThatRefsMainNames) {
  snapshot("aaa");
  EXPECT_EQ(hub_snapshot(model_), model_ / "snapshots/aaa") << "the only one";
  snapshot("bbb");
  EXPECT_THAT(error_of([&] { hub_snapshot(model_); }), HasSubstr("they are aaa, bbb"));
  std::ofstream(model_ / "refs/main") << "bbb\n";
  EXPECT_EQ(hub_snapshot(model_), model_ / "snapshots/bbb");
  EXPECT_EQ(hub_snapshot(model_ / "snapshots/aaa"), model_ / "snapshots/aaa");
  EXPECT_EQ(hub_snapshot(model_.string() + "/"), (model_ / "snapshots/bbb").string());
}

TEST_F(HubDirectory, RefusesASnapshotThatIsNotThere) {
  snapshot("aaa");
  std::ofstream(model_ / "refs/main") << "ccc";
  EXPECT_THAT(error_of([&] { hub_snapshot(model_); }),
              HasSubstr("has no snapshot ccc (refs/main names it, and snapshots/ has aaa)"));
  std::ofstream(model_ / "refs/main") << "../refs";
  EXPECT_THAT(error_of([&] { hub_snapshot(model_); }), HasSubstr("has no snapshot ../refs"));
}

TEST_F(HubDirectory, LeavesOtherPathsAlone) {
  EXPECT_EQ(hub_snapshot(directory_.path()), directory_.path());
  EXPECT_EQ(hub_snapshot("/nowhere"), "/nowhere");
  snapshot("aaa");
  std::ofstream(model_ / "config.json") << "{}";
  EXPECT_EQ(hub_snapshot(model_), model_) << "a model with a folder of that name";
}

TEST_F(HubDirectory, NamesALinkToNothing) {
  const fs::path link = directory_.path("link");
  fs::create_symlink("../blobs/12", link);
  EXPECT_EQ(dangling_link(link), link.string() + " is a link to nothing (../blobs/12)");
  EXPECT_EQ(dangling_link(directory_.path()), "");
  EXPECT_EQ(dangling_link("/nowhere"), "");
  EXPECT_THAT(error_of([&] { refuse_dangling_link(link); }), HasSubstr("Fetch the model again"));
}

}  // namespace
}  // namespace triax::test
