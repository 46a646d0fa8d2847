// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/hdf5_storage.hpp"

#include <chrono>

#include "io/hdf5/hdf5.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/io/hdf5_fixtures.hpp"

namespace triax::hdf5 {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

class Storage : public testing::Test {
 protected:
  std::string gap() const {
    return error_of([&] { File(path_, File::Mode::read).require_stored("/x", "tokens"); });
  }
  TempDirectory dir_;
  std::string path_ = dir_.path("a.h5");
};

TEST_F(Storage, WholeDatasetsAreWhole) {
  put_file(path_, "/x", {1, 2, 3});
  EXPECT_EQ(gap(), "");
  put_chunked(new_file(path_), "/x", 9, 2, 0, 9);
  EXPECT_EQ(gap(), "");
  put_chunked(new_file(path_), "/x", 9, 2, 0, 9, true);
  EXPECT_EQ(gap(), "");
  {
    const Handle creation = plist(H5P_DATASET_CREATE);
    made(H5Pset_layout(creation.id(), H5D_COMPACT));
    new_set(new_file(path_), "/x", simple_space({3}), creation);
  }
  EXPECT_EQ(gap(), "");
  new_set(new_file(path_), "/x", simple_space({0}), plist(H5P_DATASET_CREATE));
  EXPECT_EQ(gap(), "");
}

TEST_F(Storage, ChunksThatWereNeverWrittenAreCounted) {
  for (const bool compressed : {false, true}) {
    put_chunked(new_file(path_), "/x", 9, 2, 0, 4, compressed);
    EXPECT_THAT(gap(), AllOf(HasSubstr(path_ + " is not whole"),
                             HasSubstr("5 of the 9 tokens of its dataset /x"),
                             HasSubstr("3 of its 5 chunks were never written")));
    put_chunked(new_file(path_), "/x", 9, 2, 2, 9, compressed);
    EXPECT_THAT(gap(), HasSubstr("2 of the 9 tokens"));
    put_chunked(new_file(path_), "/x", 9, 2, 0, 8, compressed);
    EXPECT_THAT(gap(), HasSubstr("1 of the 9 tokens")) << "the last chunk has one";
    put_chunked(new_file(path_), "/x", 9, 2, 0, 0, compressed);
    EXPECT_THAT(gap(), HasSubstr("9 of the 9 tokens"));
  }
}

// Covers the chunk indexes of HDF5 1.10's new file format: single chunk, fixed array, extensible
// array.
TEST_F(Storage, EveryIndexOfChunksIsUnderstood) {
  const auto make = [&](hsize_t size, hsize_t most, hsize_t written) {
    const Handle file = new_latest_file(path_);
    const Handle creation = plist(H5P_DATASET_CREATE);
    const hsize_t chunk = 4;
    made(H5Pset_chunk(creation.id(), 1, &chunk));
    const Handle space = simple_space({size}, {most});
    const Handle set = new_set(file, "/x", space, creation);
    if (written == 0) return;
    const hsize_t begin = 0;
    made(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, &begin, nullptr, &written, nullptr));
    const std::vector<int> values(written, 1);
    made(H5Dwrite(set.id(), H5T_NATIVE_INT, simple_space({written}).id(), space.id(), H5P_DEFAULT,
                  values.data()));
  };
  for (const hsize_t size : {hsize_t{4}, hsize_t{10}})
    for (const hsize_t most : {size, hsize_t{H5S_UNLIMITED}}) {
      make(size, most, size);
      EXPECT_EQ(gap(), "");
      make(size, most, 0);
      EXPECT_THAT(gap(), HasSubstr(fmt::format("{} of the {} tokens", size, size)));
      if (size == 4) continue;
      make(size, most, 4);
      EXPECT_THAT(gap(), HasSubstr("6 of the 10 tokens"));
    }
}

TEST_F(Storage, ChunksOfAMatrixAreCounted) {
  const Handle creation = plist(H5P_DATASET_CREATE);
  const std::vector<hsize_t> chunk = {2, 2};
  made(H5Pset_chunk(creation.id(), 2, chunk.data()));
  {
    const Handle space = simple_space({3, 5});
    const Handle set = new_set(new_file(path_), "/x", space, creation);
    const std::vector<hsize_t> begin = {0, 0}, count = {2, 5};
    made(H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, count.data(),
                             nullptr));
    const std::vector<int> values(10, 1);
    made(H5Dwrite(set.id(), H5T_NATIVE_INT, simple_space({10}).id(), space.id(), H5P_DEFAULT,
                  values.data()));
  }
  EXPECT_THAT(gap(), AllOf(HasSubstr("5 of the 15 tokens"), HasSubstr("3 of its 6 chunks")));
}

TEST_F(Storage, SpaceThatWasNeverAllocatedIsNamed) {
  new_set(new_file(path_), "/x", simple_space({7}), plist(H5P_DATASET_CREATE));
  EXPECT_THAT(gap(), AllOf(HasSubstr("7 of the 7 tokens"), HasSubstr("none was ever written")));
}

// HDF5 reads zeros beyond the end of a raw data file.
TEST_F(Storage, RawDataInOtherFilesAreThere) {
  const std::string raw = dir_.file("raw.bin", std::string(40, 'x'));
  const auto make = [&](hsize_t size) {
    const Handle creation = plist(H5P_DATASET_CREATE);
    made(H5Pset_external(creation.id(), raw.c_str(), 4, H5F_UNLIMITED));
    new_set(new_file(path_), "/x", simple_space({size}), creation);
  };
  make(9);
  EXPECT_EQ(gap(), "");
  make(11);
  EXPECT_THAT(gap(), AllOf(HasSubstr("2 of the 11 tokens"), HasSubstr(raw),
                           HasSubstr("has 40 bytes of 48")));
  std::filesystem::remove(raw);
  EXPECT_THAT(gap(), AllOf(HasSubstr("11 of the 11 tokens"), HasSubstr("No such file")));
}

// Generous limit: the check takes 0.1 s, and a quarter of an hour if each chunk is searched from
// the first.
TEST_F(Storage, AManyChunkedFileIsLookedThroughAtOnce) {
  constexpr hsize_t chunks = 100'000;
  put_chunked(new_file(path_), "/x", 2 * chunks, 2, 0, 2 * chunks - 2);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(gap(), HasSubstr("2 of the 200000 tokens"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace triax::hdf5
