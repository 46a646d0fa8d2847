// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/checkpoint_loader.hpp"

#include <hdf5.h>

#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/load/checkpoint_blocks.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t block = integrity_block;
constexpr std::int64_t rows = 550;
const Shape large{rows, 3000};  // four chunks

std::vector<float> counted(const Shape& shape, float first) {
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), first);
  return values;
}

const std::vector<CheckpointTensor> tensors = {{"/model/a", DType::f32, {7}},
                                               {"/model/w", DType::f32, large},
                                               {"/model/s", DType::f32, {}},
                                               {"/optimizer/exp_avg/w", DType::f32, large}};

class LoaderTest : public testing::Test {
 protected:
  void write(int files) const {
    std::vector<std::vector<float>> values;
    for (const CheckpointTensor& tensor : tensors)
      values.push_back(counted(tensor.shape, first_of(tensor)));
    write_example(path_, tensors, std::move(values), example_header(), files);
  }
  static float first_of(const CheckpointTensor& tensor) {
    return static_cast<float>(tensor.name.size());
  }
  // Loads and compares every tensor. Returns the bytes read from disk.
  std::int64_t expect_all(const LoaderOptions& options = {}) const {
    const CheckpointReader reader(path_);
    CheckpointLoader loader(reader, MPI_COMM_NULL, options);
    for (const CheckpointTensor& tensor : tensors) loader.want(tensor.name, {{{}, tensor.shape}});
    for (const CheckpointTensor& tensor : tensors) {
      std::vector<float> found(static_cast<std::size_t>(tensor.shape.elements()), -1.0F);
      loader.read(tensor.name, {{{}, tensor.shape}}, Tensor(found.data(), tensor.shape));
      EXPECT_TRUE(found == counted(tensor.shape, first_of(tensor))) << tensor.name;
    }
    loader.finish();
    return loader.bytes_read();
  }
  std::string error_of_loading() const {
    return error_of([&] { expect_all(); });
  }
  static std::int64_t all_bytes() {
    std::int64_t bytes = 0;
    for (const CheckpointTensor& tensor : tensors) bytes += tensor.bytes();
    return bytes;
  }
  // Makes HDF5 rewrite a dataset of the file, as h5repack does.
  void store_anew(const std::string& name, bool big_chunks_compressed) const {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t old = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
    std::vector<float> values(static_cast<std::size_t>(large.elements()));
    H5Dread(old, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    const hid_t space = H5Dget_space(old);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {100, 500};
    H5Pset_chunk(list, 2, chunk);
    if (big_chunks_compressed) H5Pset_deflate(list, 1);
    H5Dclose(old);
    H5Ldelete(file, name.c_str(), H5P_DEFAULT);
    const hid_t anew =
        H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    EXPECT_GE(H5Dwrite(anew, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Dclose(anew);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
  }
  // Rewrites the file's checksums for chunks of `elements` elements.
  void store_checksums(std::int64_t elements) const {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t group = H5Gopen2(file, "/integrity", H5P_DEFAULT);
    const hid_t attribute = H5Aopen(group, "block_elements", H5P_DEFAULT);
    EXPECT_GE(H5Awrite(attribute, H5T_NATIVE_INT64, &elements), 0);
    H5Aclose(attribute);
    H5Gclose(group);
    for (const CheckpointTensor& tensor : tensors) {
      std::vector<float> values = counted(tensor.shape, first_of(tensor));
      const auto blocks = static_cast<hsize_t>(integrity_blocks(std::ssize(values), elements));
      std::vector<std::uint64_t> sums(blocks);
      add_checksums(sums, elements, checksum_seed(tensor.name), 0,
                    Tensor(values.data(), tensor.shape));
      const std::string name = "/integrity" + tensor.name;
      H5Ldelete(file, name.c_str(), H5P_DEFAULT);
      const hid_t space = H5Screate_simple(1, &blocks, nullptr);
      const hid_t words = H5Dcreate2(file, name.c_str(), H5T_STD_U64LE, space, H5P_DEFAULT,
                                     H5P_DEFAULT, H5P_DEFAULT);
      EXPECT_GE(H5Dwrite(words, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, sums.data()), 0);
      H5Dclose(words);
      H5Sclose(space);
    }
    H5Fclose(file);
  }
  TempDirectory dir_;
  std::string path_ = checkpoint_path(dir_.path(), 50);
};

// Lent memory may begin at any byte; too little is not used.
TEST_F(LoaderTest, ReadsThroughMemoryThatItIsLent) {
  write(2);
  constexpr auto enough = static_cast<std::size_t>(loading_bytes_at_once);
  const Buffer buffer(enough);
  const std::span all(static_cast<std::byte*>(buffer.data()), enough);
  for (const std::size_t skip : {std::size_t{0}, std::size_t{1}, enough - 100'000}) {
    std::ranges::fill(all, std::byte{255});
    EXPECT_EQ(expect_all({.memory = all.subspan(skip)}), all_bytes());
    const bool used = !std::ranges::all_of(all, [](std::byte b) { return b == std::byte{255}; });
    EXPECT_EQ(used, skip < 2) << skip;
  }
}

TEST_F(LoaderTest, ReadsEveryByteOnce) {
  write(1);
  EXPECT_EQ(expect_all(), all_bytes());
  EXPECT_EQ(expect_all({.window_bytes = 1}), all_bytes());
}

TEST_F(LoaderTest, ReadsFilesInParts) {
  write(3);
  EXPECT_EQ(expect_all(), all_bytes());
  const CheckpointReader reader(path_);
  const CheckpointBlocks blocks(reader, MPI_COMM_NULL);
  EXPECT_GE(blocks.files().size(), 2U) << "past HDF5";
}

// Each column needs every chunk again. A chunk still in the window is not read again.
TEST_F(LoaderTest, ReadsWhatIsNotSideBySide) {
  write(1);
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_NULL, {.window_bytes = 5 * 4 * block * 4});
  const std::vector<hdf5::Box> left = {{{0, 0}, {rows, 1}}};
  const std::vector<hdf5::Box> right = {{{0, 2000}, {rows, 1000}}};
  loader.want("/model/w", left);
  loader.want("/model/w", right);
  std::vector<float> one(rows), many(rows * 1000);
  loader.read("/model/w", left, Tensor(one.data(), {rows}));
  // Reads in several pieces, as a staging buffer does.
  loader.read("/model/w", {{{0, 2000}, {250, 1000}}}, Tensor(many.data(), {250, 1000}));
  loader.read("/model/w", {{{250, 2000}, {300, 1000}}},
              Tensor(many.data() + 250 * 1000, {300, 1000}));
  loader.finish();
  const float first = first_of(tensors[1]);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<float>(row * 3000);
    wrong += one[static_cast<std::size_t>(row)] != begin + first ? 1 : 0;
    for (std::int64_t column = 0; column < 1000; ++column)
      wrong += many[static_cast<std::size_t>(row * 1000 + column)] !=
                       begin + 2000.0F + static_cast<float>(column) + first
                   ? 1
                   : 0;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(loader.bytes_read(), large.elements() * 4);
}

TEST_F(LoaderTest, WhatIsNotReadIsNotAsked) {
  write(1);
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_NULL);
  const std::vector<hdf5::Box> last = {{{rows - 1, 2999}, {1, 1}}};
  loader.want("/model/w", last);
  float value = 0;
  loader.read("/model/w", last, Tensor(&value, {1}));
  loader.finish();
  EXPECT_EQ(value, static_cast<float>(large.elements() - 1) + first_of(tensors[1]));
  EXPECT_EQ(loader.bytes_read(), (large.elements() - 3 * block) * 4);
}

TEST_F(LoaderTest, NothingWantedIsNothingRead) {
  write(1);
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_NULL);
  loader.finish();
  EXPECT_EQ(loader.bytes_read(), 0);
}

TEST_F(LoaderTest, DatasetsThatWereStoredAnewAreReadByTheLibrary) {
  write(1);
  store_anew("/model/w", true);
  store_anew("/optimizer/exp_avg/w", false);
  EXPECT_EQ(expect_all(), all_bytes());
  EXPECT_TRUE(require_whole(path_, MPI_COMM_NULL));
}

TEST_F(LoaderTest, ADamagedBlockIsNamed) {
  for (const int files : {1, 3}) {
    write(files);
    const CheckpointReader reader(path_);
    const CheckpointBlocks blocks(reader, MPI_COMM_NULL);
    const std::int64_t hit = blocks.first_of(blocks.find("/model/w")) + 2;
    const FileRange range = blocks.ranges(hit).front();
    flip_bit(blocks.files()[range.file], range.offset + 5, 3);
    EXPECT_THAT(
        error_of_loading(),
        AllOf(HasSubstr(path_ + " is damaged"),
              HasSubstr(fmt::format("/model/w block 2, bytes {} to {}", 8 * block, 12 * block)),
              HasSubstr("Use another checkpoint")));
  }
}

TEST_F(LoaderTest, AFileThatWasCutIsAnError) {
  write(1);
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_NULL);
  loader.want("/model/w", {{{}, large}});
  const CheckpointBlocks blocks(reader, MPI_COMM_NULL);
  const FileRange last = blocks.ranges(blocks.first_of(blocks.find("/model/w")) + 3).front();
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(last.offset + 100));
  std::vector<float> values(static_cast<std::size_t>(large.elements()));
  EXPECT_THAT(error_of([&] {
                loader.read("/model/w", {{{}, large}}, Tensor(values.data(), large));
              }),
              AllOf(HasSubstr("cannot read " + path_), HasSubstr("the file ends there")));
  EXPECT_TRUE(loader.failed());
}

TEST_F(LoaderTest, OtherTypesAreReadAsFloat32) {
  {
    CheckpointWriter writer(path_, MPI_COMM_NULL);
    writer.create(example_header(), {{"/model/d", DType::f64, {3}},
                                     {"/model/b", DType::bf16, {3}},
                                     {"/model/h", DType::f16, {3}}});
    std::vector<double> d = {0.1, -2.0, 1e30};
    std::vector<Bf16> b = {Bf16(0.5F), Bf16(-3.0F), Bf16(1e30F)};
    std::vector<F16> h = {F16(0.5F), F16(-3.0F), F16(65504.0F)};
    writer.write("/model/d", {{{}, {3}}}, Tensor(d.data(), {3}));
    writer.write("/model/b", {{{}, {3}}}, Tensor(b.data(), {3}));
    writer.write("/model/h", {{{}, {3}}}, Tensor(h.data(), {3}));
    writer.publish();
  }
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_NULL);
  const std::vector<std::string> names = {"/model/h", "/model/d", "/model/b"};
  for (const std::string& name : names) loader.want(name, {{{}, {3}}});
  for (const std::string& name : names) {
    std::vector<float> loaded(3), expected(3);
    loader.read(name, {{{}, {3}}}, Tensor(loaded.data(), {3}));
    reader.read(name, {{{}, {3}}}, Tensor(expected.data(), {3}));
    EXPECT_EQ(loaded, expected) << name;
  }
  loader.finish();
}

// Earlier versions wrote one checksum per 2^20 elements.
TEST_F(LoaderTest, FilesOfOtherBlocksAreRead) {
  for (const std::int64_t elements : {2 * block, block / 3}) {
    write(1);
    store_checksums(elements);
    EXPECT_EQ(expect_all(), all_bytes());
    EXPECT_TRUE(require_whole(path_, MPI_COMM_NULL));
    flip_bit(path_, hdf5::File(path_, hdf5::File::Mode::read).offset("/model/w") + 4 * elements, 1);
    EXPECT_THAT(error_of_loading(),
                HasSubstr(fmt::format("/model/w block 1, bytes {} to", 4 * elements)));
  }
}

// Format 1 had no checksums.
TEST_F(LoaderTest, FilesWithoutChecksumsAreRead) {
  std::vector<float> values = counted(large, 3.0F);
  {
    hdf5::File file(path_, hdf5::File::Mode::create);
    CheckpointHeader header = example_header();
    header.format_version = 1;
    write_header(file, header);
    file.create_dataset("/model/w", DType::f32, large);
    file.write("/model/w", {{{}, large}}, Tensor(values.data(), large));
    file.close();
  }
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_NULL);
  EXPECT_FALSE(loader.has_checksums());
  loader.want("/model/w", {{{}, large}});
  std::vector<float> found(values.size());
  loader.read("/model/w", {{{}, large}}, Tensor(found.data(), large));
  loader.finish();
  EXPECT_TRUE(found == values);
}

}  // namespace
}  // namespace triax
