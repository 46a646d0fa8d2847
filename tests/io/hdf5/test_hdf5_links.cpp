// SPDX-License-Identifier: Apache-2.0
// Errors about files behind external links.
#include "io/hdf5/hdf5_links.hpp"

#include "io/hdf5/hdf5.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/io/hdf5_fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void link(const Handle& file, const std::string& name, const std::string& to_file,
          const std::string& object) {
  made(H5Lcreate_external(to_file.c_str(), object.c_str(), file.id(), name.c_str(), H5P_DEFAULT,
                          H5P_DEFAULT));
}

void soft_link(const Handle& file, const std::string& name, const std::string& object) {
  made(H5Lcreate_soft(object.c_str(), file.id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
}

TEST(Hdf5Links, TheirTargets) {
  const TempDirectory dir;
  const Handle file = new_file(dir.path("a.h5"));
  put(file, "/x", {1});
  soft_link(file, "/soft", "/nowhere");
  link(file, "/external", "b.h5", "/y");
  EXPECT_EQ(target_of_link(file.id(), "/soft").text(), "/nowhere");
  EXPECT_EQ(target_of_link(file.id(), "/external").text(), "/y of b.h5");
  EXPECT_EQ(target_of_link(file.id(), "/x").text(), "");
  EXPECT_EQ(target_of_link(file.id(), "/none").text(), "");
}

// left.h5 is marked as open for writing, as a killed writer leaves it.
class LinksToAFileLeftOpen : public testing::Test {
 protected:
  void SetUp() override { put_file_left_open(left_, "/deep/x", {1, 2}); }
  void expect_hint(const std::string& dataset) const {
    EXPECT_THAT(error_of([&] { (void)File(outer_, File::Mode::read).shape(dataset); }),
                AllOf(HasSubstr("cannot open dataset " + dataset + " in " + outer_),
                      HasSubstr("cannot open " + left_ + " as HDF5 (it is marked as open"),
                      HasSubstr("`h5clear -s " + left_ + "`"),
                      Not(HasSubstr("h5clear -s " + outer_)), Not(HasSubstr("damaged"))));
  }
  TempDirectory dir_;
  std::string left_ = dir_.path("left.h5"), outer_ = dir_.path("outer.h5");
};

TEST_F(LinksToAFileLeftOpen, TheHintNamesThatFile) {
  {
    const Handle file = new_file(outer_);
    link(file, "/tokens", "left.h5", "/deep/x");
    link(file, "/group", left_, "/deep");
    soft_link(file, "/soft", "tokens");
    soft_link(file, "/absolute", "/group/x");
  }
  for (const char* name : {"/tokens", "/group/x", "/soft", "/absolute"}) expect_hint(name);
}

TEST_F(LinksToAFileLeftOpen, BehindAnotherFile) {
  link(new_file(dir_.path("middle.h5")), "/y", "left.h5", "/deep/x");
  link(new_file(outer_), "/tokens", "middle.h5", "/y");
  expect_hint("/tokens");
}

TEST_F(LinksToAFileLeftOpen, FromASourceOfAVirtualDataset) {
  link(new_file(dir_.path("middle.h5")), "/y", "left.h5", "/deep/x");
  put_virtual(new_file(outer_), "/v", 2, {{all_of(2), "middle.h5", "/y", all_of(2)}});
  EXPECT_THAT(error_of([&] { File(outer_, File::Mode::read).require_stored("/v", "tokens"); }),
              AllOf(HasSubstr("dataset /y of " + dir_.path("middle.h5")),
                    HasSubstr("`h5clear -s " + left_ + "`")));
}

TEST(Hdf5Links, InACircleEnd) {
  const TempDirectory dir;
  const std::string path = dir.path("a.h5");
  {
    const Handle file = new_file(path);
    soft_link(file, "/a", "/b");
    soft_link(file, "/b", "/a");
    link(file, "/c", "a.h5", "/c");
  }
  for (const char* name : {"/a", "/c"})
    EXPECT_THAT(error_of([&] { (void)File(path, File::Mode::read).shape(name); }),
                AllOf(HasSubstr("it is a link to"), HasSubstr("does not open as a dataset")));
}

TEST(Hdf5Links, ToADamagedFile) {
  const TempDirectory dir;
  link(new_file(dir.path("a.h5")), "/x", "b.h5", "/x");
  dir.file("b.h5", "words");
  EXPECT_THAT(error_of([&] { (void)File(dir.path("a.h5"), File::Mode::read).shape("/x"); }),
              AllOf(HasSubstr("cannot open " + dir.path("b.h5") + " as HDF5"),
                    HasSubstr("truncated, damaged")));
}

}  // namespace
}  // namespace triax::hdf5
