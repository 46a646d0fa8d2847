// SPDX-License-Identifier: Apache-2.0
// Unlimited mappings of virtual datasets, and the search path of sources.
#include "io/hdf5/hdf5_mapping.hpp"

#include "io/hdf5/hdf5.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/io/hdf5_fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Interleaved blocks: HDF5 1.10.8's own intersection crashes where bounds meet and nothing is
// common.
TEST(CommonElements, OfARangeAndInterleavedBlocks) {
  for (const hsize_t block : {33, 50, 64})
    for (hsize_t begin = 0; begin < 300; begin += 9) {
      const Handle blocks = simple_space({400}), range = simple_space({400});
      const hsize_t zero = 0, apart = 2 * block, count = 3, one = 1, length = 33;
      made(H5Sselect_hyperslab(blocks.id(), H5S_SELECT_SET, &zero, &apart, &count, &block));
      made(H5Sselect_hyperslab(range.id(), H5S_SELECT_SET, &begin, nullptr, &one, &length));
      hsize_t expected = 0;
      for (hsize_t at = begin; at < begin + length; ++at)
        expected += at < count * apart && at % apart < block ? 1 : 0;
      EXPECT_EQ(count_of(common_elements(range.id(), blocks.id()).id()), expected)
          << block << ' ' << begin;
    }
}

std::vector<int> all_values(const std::string& path) {
  const File file(path, File::Mode::read);
  file.require_stored("/v", "tokens");
  const Shape shape = file.shape("/v");
  std::vector<std::int32_t> out(static_cast<std::size_t>(shape.elements()), -7);
  file.read("/v", {{{}, shape}}, Tensor(out.data(), shape));
  return out;
}

// An unlimited dataset with chunks of 2 elements.
void put_growing(const Handle& file, const std::string& name, const std::vector<int>& values) {
  const Handle creation = plist(H5P_DATASET_CREATE);
  const hsize_t chunk = 2;
  made(H5Pset_chunk(creation.id(), 1, &chunk));
  const Handle set = new_set(file, name, simple_space({values.size()}, {H5S_UNLIMITED}), creation);
  made(H5Dwrite(set.id(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
}

TEST(Hdf5Mapping, GrowsWithItsSource) {
  const TempDirectory dir;
  put_growing(new_file(dir.path("a.h5")), "/x", {1, 2, 3, 4, 5});
  const Selected endless = {5, 0, H5S_UNLIMITED, 1, 1};
  put_virtual(new_file(dir.path("all.h5")), "/v", 3, {{endless, "a.h5", "/x", endless}}, true);
  EXPECT_THAT(all_values(dir.path("all.h5")), ElementsAre(1, 2, 3, 4, 5));
  std::filesystem::remove(dir.path("a.h5"));
  EXPECT_THAT(error_of([&] { all_values(dir.path("all.h5")); }),
              AllOf(HasSubstr("the size of its dataset /v follows from its sources"),
                    HasSubstr("dataset /x of " + dir.path("a.h5"))));
}

TEST(Hdf5Mapping, OfInterleavedSourcesOneIsLonger) {
  const TempDirectory dir;
  put_growing(new_file(dir.path("a.h5")), "/x", {1, 2, 3});
  put_growing(new_file(dir.path("b.h5")), "/x", {10, 20});
  const Selected source = {2, 0, H5S_UNLIMITED, 1, 1};
  const std::vector<Piece> pieces = {{{4, 0, H5S_UNLIMITED, 2, 1}, "a.h5", "/x", source},
                                     {{4, 1, H5S_UNLIMITED, 2, 1}, "b.h5", "/x", source}};
  put_virtual(new_file(dir.path("all.h5")), "/v", 4, pieces, true);
  EXPECT_THAT(all_values(dir.path("all.h5")), ElementsAre(1, 10, 2, 20, 3));
  put_growing(new_file(dir.path("a.h5")), "/x", {1, 2, 3, 4});
  EXPECT_THAT(error_of([&] { all_values(dir.path("all.h5")); }),
              AllOf(HasSubstr("1 of the 7 tokens"), HasSubstr("no source")));
}

TEST(Hdf5Mapping, NumbersItsSources) {
  const TempDirectory dir;
  const Selected blocks = {2, 0, H5S_UNLIMITED, 2, 2};
  for (const char* name : {"100%-0.h5", "100%-1.h5", "100%-2.h5"})
    put_file(dir.path(name), "/x", {name[5] - '0', 7});
  put_virtual(new_file(dir.path("all.h5")), "/v", 2, {{blocks, "100%%-%b.h5", "/x", all_of(2)}},
              true);
  EXPECT_THAT(all_values(dir.path("all.h5")), ElementsAre(0, 7, 1, 7, 2, 7));
  // HDF5 would take the first missing source for the end.
  std::filesystem::remove(dir.path("100%-1.h5"));
  EXPECT_THAT(error_of([&] { all_values(dir.path("all.h5")); }),
              AllOf(HasSubstr("2 of the 6 tokens"), HasSubstr("100%-1.h5"), HasSubstr("No such")));
}

// Three numbered sources of 2 elements each, and the unlimited dataset /v of them.
class NumberedSets : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) put_file(part(i), "/x", {i, 7});
    put(6);
  }
  std::string part(int number) const { return dir_.path(fmt::format("src-{}.h5", number)); }
  // `size`: that in the file.
  void put(hsize_t size) const {
    put_virtual(new_file(path_), "/v", size,
                {{{2, 0, H5S_UNLIMITED, 2, 2}, "src-%b.h5", "/x", all_of(2)}}, true);
  }
  std::string error(const std::string& of = "all.h5") const {
    return error_of([&] { all_values(dir_.path(of)); });
  }
  TempDirectory dir_;
  std::string path_ = dir_.path("all.h5");
};

TEST_F(NumberedSets, TheLastIsMissing) {
  EXPECT_THAT(all_values(path_), ElementsAre(0, 7, 1, 7, 2, 7));
  std::filesystem::remove(part(2));
  EXPECT_THAT(error(), AllOf(HasSubstr(path_ +
                                       " is not whole (the size of its dataset /v follows from its "
                                       "sources: it was stored with size 6 and has size 4 now: "
                                       "its source, dataset /x of " +
                                       part(2) + ", cannot be read"),
                             HasSubstr("No such file"), HasSubstr("h5py.File(sys.argv[1], 'r+')"),
                             HasSubstr("\" " + path_)));
}

TEST_F(NumberedSets, TheSizeThatAWriterStoredIsTaken) {
  std::filesystem::remove(part(2));
  {
    const Handle file(made(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)), H5Fclose);
    const Handle set(made(H5Dopen2(file.id(), "/v", H5P_DEFAULT)), H5Dclose);
    const Handle space(made(H5Dget_space(set.id())), H5Sclose);
  }
  EXPECT_THAT(all_values(path_), ElementsAre(0, 7, 1, 7));
}

TEST_F(NumberedSets, AllAreMissing) {
  for (int i = 0; i < 3; ++i) std::filesystem::remove(part(i));
  for (const hsize_t size : {6, 0}) {
    put(size);
    EXPECT_THAT(error(), AllOf(HasSubstr("all.h5 is not whole"),
                               HasSubstr("dataset /x of " + part(0)), HasSubstr("No such file")))
        << size;
  }
}

// The size in the file is smaller, as that of a dataset whose sources came later.
TEST_F(NumberedSets, TheLastDoesNotOpen) {
  put(2);
  dir_.file("src-2.h5", "words");
  EXPECT_THAT(error(), AllOf(HasSubstr("all.h5 is not whole"),
                             HasSubstr("dataset /x of " + part(2) + ", cannot be read"),
                             Not(HasSubstr("there is")), Not(HasSubstr("h5py"))));
}

TEST_F(NumberedSets, FilesBehindALongGapAreNamed) {
  put(2);
  std::filesystem::remove(part(2));
  for (const char* other : {"src-.h5", "src-x.h5", "src-9", "src-09.h5", "src--9.h5"})
    dir_.file(other, "");
  EXPECT_THAT(all_values(path_), ElementsAre(0, 7, 1, 7));
  for (const int number : {250, 200}) put_file(part(number), "/x", {1, 7});
  EXPECT_THAT(error(), AllOf(HasSubstr("dataset /x of " + part(2)), HasSubstr("No such file"),
                             HasSubstr("; there is " + part(200))));
}

TEST_F(NumberedSets, InSourcesOfSources) {
  const Selected endless = {6, 0, H5S_UNLIMITED, 1, 1};
  put_virtual(new_file(dir_.path("outer.h5")), "/v", 2, {{endless, "all.h5", "/v", endless}}, true);
  put_virtual(new_file(dir_.path("first.h5")), "/v", 4,
              {{all_of(4), "all.h5", "/v", range_of(6, 0, 4)}});
  std::filesystem::remove(part(2));
  EXPECT_THAT(error("outer.h5"),
              AllOf(HasSubstr("its source, dataset /v of " + path_ + ", is not whole"),
                    HasSubstr("dataset /x of " + part(2))));
  EXPECT_THAT(all_values(dir_.path("first.h5")), ElementsAre(0, 7, 1, 7)) << "without the last";
  for (int i = 0; i < 2; ++i) std::filesystem::remove(part(i));
  EXPECT_THAT(error("outer.h5"), HasSubstr("dataset /x of " + part(0)));
}

TEST(Hdf5Mapping, ASourceThatBecameShorterIsNamed) {
  const TempDirectory dir;
  put_file(dir.path("a.h5"), "/x", {1, 2, 3});
  put_growing(new_file(dir.path("b.h5")), "/x", {4, 5});
  const std::vector<Piece> pieces = {
      {range_of(3, 0, 3), "a.h5", "/x", all_of(3)},
      {{5, 3, H5S_UNLIMITED, 1, 1}, "b.h5", "/x", {2, 0, H5S_UNLIMITED, 1, 1}}};
  put_virtual(new_file(dir.path("all.h5")), "/v", 5, pieces, true);
  EXPECT_THAT(all_values(dir.path("all.h5")), ElementsAre(1, 2, 3, 4, 5));
  put_growing(new_file(dir.path("b.h5")), "/x", {4});
  EXPECT_THAT(error_of([&] { all_values(dir.path("all.h5")); }),
              AllOf(HasSubstr("stored with size 5 and has size 4 now"),
                    HasSubstr("its source, dataset /x of " + dir.path("b.h5") + ", is shorter")));
  std::filesystem::remove(dir.path("b.h5"));
  EXPECT_THAT(error_of([&] { all_values(dir.path("all.h5")); }),
              AllOf(HasSubstr("dataset /x of " + dir.path("b.h5")), HasSubstr("No such file")));
}

TEST(Hdf5Mapping, SourcesAreSoughtAsHdf5Does) {
  const TempDirectory dir;
  const std::string holder = dir.path("all.h5");
  EXPECT_EQ(path_of_source(holder, "a.h5"), dir.path("a.h5"));
  EXPECT_EQ(path_of_source(holder, "/nowhere/a.h5"), "/nowhere/a.h5");
  dir.file("a.h5", "");
  EXPECT_EQ(path_of_source(holder, "/nowhere/a.h5"), dir.path("a.h5")) << "beside the file";
  std::filesystem::create_directory(dir.path("links"));
  dir.file("all.h5", "");
  std::filesystem::create_symlink(holder, dir.path("links/all.h5"));
  EXPECT_TRUE(std::filesystem::equivalent(path_of_source(dir.path("links/all.h5"), "a.h5"),
                                          dir.path("a.h5")));
}

}  // namespace
}  // namespace triax::hdf5
