// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_sources.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <numeric>

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

std::vector<int> values_of(const File& file, const std::string& name, std::int64_t begin,
                           std::int64_t end) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(end - begin), -7);
  file.read(name, flat_range_boxes(file.shape(name), begin, end),
            Tensor(out.data(), {end - begin}));
  return out;
}

std::vector<int> all_values(const std::string& path, const std::string& name = "/v") {
  const File file(path, File::Mode::read);
  return values_of(file, name, 0, file.shape(name).elements());
}

std::string gap_of(const std::string& path, const std::string& name = "/v") {
  return error_of([&] { File(path, File::Mode::read).require_stored(name, "tokens"); });
}

class VirtualSets : public testing::Test {
 protected:
  void SetUp() override {
    put_file(a_, "/x", {1, 2, 3, 4});
    put_file(b_, "/y", {5, 6, 7});
    put_virtual(new_file(path_), "/v", 7,
                {{range_of(7, 0, 4), "a.h5", "/x", all_of(4)},
                 {range_of(7, 4, 7), "b.h5", "/y", all_of(3)}});
  }
  TempDirectory dir_;
  std::string a_ = dir_.path("a.h5"), b_ = dir_.path("b.h5"), path_ = dir_.path("all.h5");
};

TEST_F(VirtualSets, AreReadFromTheirSources) {
  EXPECT_EQ(gap_of(path_), "");
  EXPECT_THAT(all_values(path_), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  const File file(path_, File::Mode::read);
  EXPECT_THAT(values_of(file, "/v", 3, 6), ElementsAre(4, 5, 6));
  EXPECT_THAT(values_of(file, "/v", 6, 7), ElementsAre(7));
}

TEST_F(VirtualSets, AMissingSourceIsNamed) {
  const auto expect = [&](const std::string& what, const std::string& why) {
    EXPECT_THAT(gap_of(path_),
                AllOf(HasSubstr(path_ + " is not whole (3 of the 7 tokens of its dataset /v"),
                      HasSubstr("its source, dataset /y of " + what), HasSubstr(why)));
    EXPECT_THAT(error_of([&] { all_values(path_); }),
                AllOf(HasSubstr("cannot read dataset /v in " + path_), HasSubstr(what)));
    EXPECT_EQ(error_of([&] {
                const File file(path_, File::Mode::read);
                EXPECT_THAT(values_of(file, "/v", 1, 3), ElementsAre(2, 3));
              }),
              "");
  };
  std::filesystem::rename(b_, dir_.path("c.h5"));
  expect(b_, "No such file");
  dir_.file("b.h5", "words");
  expect(b_, "cannot be read: cannot open " + b_ + " as HDF5");
  put_file(b_, "/z", {5, 6, 7});
  expect(b_, "cannot be read: HDF5: object 'y' doesn't exist");
  put_file(b_, "/y", {5, 6});
  expect(b_, "lacks elements");
}

TEST_F(VirtualSets, AFileMovedAwayFromItsSourcesIsRefused) {
  std::filesystem::create_directory(dir_.path("elsewhere"));
  const std::string moved = dir_.path("elsewhere/all.h5");
  std::filesystem::rename(path_, moved);
  EXPECT_THAT(gap_of(moved), AllOf(HasSubstr("7 of the 7 tokens"), HasSubstr("dataset /x of "),
                                   HasSubstr("elsewhere/a.h5"), HasSubstr("No such file")));
  // A symbolic link works too: sources are searched beside its target.
  std::filesystem::rename(moved, path_);
  std::filesystem::create_symlink(path_, moved);
  EXPECT_EQ(gap_of(moved), "");
  EXPECT_THAT(all_values(moved), ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST_F(VirtualSets, AbsoluteNamesAndTheFileItself) {
  {
    const Handle file = new_file(path_);
    put(file, "/own", {9, 8});
    put_virtual(file, "/v", 6,
                {{range_of(6, 0, 2), ".", "/own", all_of(2)},
                 {range_of(6, 2, 4), "all.h5", "/own", all_of(2)},
                 {range_of(6, 4, 6), b_, "/y", range_of(3, 1, 3)}});
  }
  EXPECT_EQ(gap_of(path_), "");
  EXPECT_THAT(all_values(path_), ElementsAre(9, 8, 9, 8, 6, 7));
}

// HDF5 refuses to open a file with two sets of access properties, and reads a refused source as
// zeros.
TEST_F(VirtualSets, SourcesThatAreOpenThemselvesAreRead) {
  const File open(b_, File::Mode::read);
  EXPECT_THAT(values_of(open, "/y", 0, 3), ElementsAre(5, 6, 7));
  EXPECT_EQ(gap_of(path_), "");
  EXPECT_THAT(all_values(path_), ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST_F(VirtualSets, SourcesOfSourcesCount) {
  const std::string outer = dir_.path("outer.h5");
  put_virtual(new_file(outer), "/v", 5, {{all_of(5), "all.h5", "/v", range_of(7, 2, 7)}});
  EXPECT_EQ(gap_of(outer), "");
  EXPECT_THAT(all_values(outer), ElementsAre(3, 4, 5, 6, 7));
  std::filesystem::remove(a_);
  EXPECT_THAT(gap_of(outer),
              AllOf(HasSubstr("2 of the 5 tokens"), HasSubstr("dataset /v of " + path_),
                    HasSubstr("its source, dataset /x of " + a_)));
  // The missing source is not among the selected elements.
  put_virtual(new_file(outer), "/v", 3, {{all_of(3), "all.h5", "/v", range_of(7, 4, 7)}});
  EXPECT_EQ(gap_of(outer), "");
  EXPECT_THAT(all_values(outer), ElementsAre(5, 6, 7));
}

TEST_F(VirtualSets, SourcesInACircleAreRefused) {
  put_virtual(new_file(a_), "/x", 4, {{all_of(4), "b.h5", "/y", all_of(4)}});
  put_virtual(new_file(b_), "/y", 4, {{all_of(4), "a.h5", "/x", all_of(4)}});
  EXPECT_THAT(gap_of(a_, "/x"), HasSubstr("virtual datasets in a cycle"));
}

TEST_F(VirtualSets, ChunksThatASourceLacksAreCounted) {
  put_chunked(new_file(b_), "/y", 10, 2, 0, 4);
  const auto with = [&](hsize_t begin, hsize_t end) {
    put_virtual(new_file(path_), "/v", end - begin,
                {{all_of(end - begin), "b.h5", "/y", range_of(10, begin, end)}});
    return gap_of(path_);
  };
  EXPECT_EQ(with(0, 4), "");
  EXPECT_EQ(with(1, 3), "");
  EXPECT_THAT(with(1, 8), AllOf(HasSubstr("4 of the 7 tokens"), HasSubstr("dataset /y of " + b_),
                                HasSubstr("3 of its 5 chunks were never written")));
}

TEST_F(VirtualSets, WhatNoSourceIsNamedForIsCounted) {
  put_virtual(
      new_file(path_), "/v", 9,
      {{range_of(9, 0, 4), "a.h5", "/x", all_of(4)}, {range_of(9, 3, 6), "b.h5", "/y", all_of(3)}});
  EXPECT_THAT(gap_of(path_),
              AllOf(HasSubstr("3 of the 9 tokens"), HasSubstr("it names no source")));
  EXPECT_THAT(error_of([&] { all_values(path_); }), HasSubstr("no source"));
}

TEST_F(VirtualSets, InterleavedSourcesAreRead) {
  put_file(b_, "/y", {10, 20, 30, 40});
  put_virtual(
      new_file(path_), "/v", 8,
      {{{8, 0, 2, 4, 2}, "a.h5", "/x", all_of(4)}, {{8, 2, 2, 4, 2}, "b.h5", "/y", all_of(4)}});
  EXPECT_EQ(gap_of(path_), "");
  EXPECT_THAT(all_values(path_), ElementsAre(1, 2, 10, 20, 3, 4, 30, 40));
  const File file(path_, File::Mode::read);
  EXPECT_THAT(values_of(file, "/v", 1, 5), ElementsAre(2, 10, 20, 3));
  std::filesystem::remove(b_);
  EXPECT_THAT(gap_of(path_), HasSubstr("4 of the 8 tokens"));
}

TEST_F(VirtualSets, RowsOfAMatrixAreRead) {
  {
    const Handle file = new_file(b_);
    const Handle set = new_set(file, "/y", simple_space({2, 3}), plist(H5P_DATASET_CREATE));
    const std::vector<int> values = {1, 2, 3, 4, 5, 6};
    made(H5Dwrite(set.id(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
    const Handle creation = plist(H5P_DATASET_CREATE);
    made(H5Pset_virtual(creation.id(), simple_space({6}).id(), "b.h5", "/y",
                        simple_space({2, 3}).id()));
    new_set(new_file(path_), "/v", simple_space({6}), creation);
  }
  EXPECT_EQ(gap_of(path_), "");
  EXPECT_THAT(all_values(path_), ElementsAre(1, 2, 3, 4, 5, 6));
  const File file(path_, File::Mode::read);
  EXPECT_THAT(values_of(file, "/v", 2, 5), ElementsAre(3, 4, 5));
}

// HDF5 keeps all sources open, and reads zeros from those without a free file descriptor.
TEST_F(VirtualSets, MoreSourcesThanAProcessMayHaveOpen) {
  constexpr hsize_t sources = 300;
  std::vector<Piece> pieces;
  for (hsize_t i = 0; i < sources; ++i) {
    const std::string name = fmt::format("part-{}.h5", i);
    put_file(dir_.path(name), "/x", {static_cast<int>(i) + 1});
    pieces.push_back({range_of(sources, i, i + 1), name, "/x", all_of(1)});
  }
  put_virtual(new_file(path_), "/v", sources, pieces);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(0);
  ::close(next);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(next) + 100;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  const std::string gap = gap_of(path_);
  const std::vector<int> all = all_values(path_);
  ::setrlimit(RLIMIT_NOFILE, &before);
  std::vector<int> expected(sources);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(gap, "");
  EXPECT_EQ(all, expected);
}

TEST_F(VirtualSets, ASourceThatIsMadeShorterIsFound) {
  std::vector<int> many(100'000);
  std::iota(many.begin(), many.end(), 1);
  put_file(b_, "/y", many);
  put_virtual(new_file(path_), "/v", many.size(),
              {{all_of(many.size()), "b.h5", "/y", all_of(many.size())}});
  const File file(path_, File::Mode::read);
  EXPECT_THAT(values_of(file, "/v", 0, 2), ElementsAre(1, 2));
  EXPECT_NO_THROW(file.check_lengths());
  std::filesystem::resize_file(b_, 4096);
  (void)values_of(file, "/v", 0, 2);
  EXPECT_THAT(error_of([&] { file.check_lengths(); }), AllOf(HasSubstr(b_), HasSubstr("shorter")));
}

}  // namespace
}  // namespace triax::hdf5
