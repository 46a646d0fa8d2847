// SPDX-License-Identifier: Apache-2.0
#include "io/offload/offload_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "io/hdf5/hdf5.hpp"
#include "tests/io/block_fixtures.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

// Output of a command; "absent" where it is not installed.
std::string output_of(const std::string& program, const std::string& arguments) {
  const std::string command = fmt::format(
      "command -v {0} > /dev/null || {{ echo absent; exit; }}; {0} {1} 2>&1", program, arguments);
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  check(pipe != nullptr, "popen");
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), count);
  ::pclose(pipe);
  return text;
}

const std::vector<OffloadDataset> few = {
    {"/optimizer/exp_avg/block 0", DType::f32, 1'000'003},
    {"/optimizer/exp_avg/block 1", DType::f32, 1},
    {"/parameters/block 0", DType::bf16, 70'001},
    {"/parameters/half", DType::f16, 2048},
    {"/none", DType::f32, 0},
};

// Padded memory for a whole dataset, and a tensor of its elements.
struct Elements {
  explicit Elements(const OffloadDataset& dataset)
      : buffer(static_cast<std::size_t>(padded_elements(dataset.dtype, dataset.elements)) *
               size_of(dataset.dtype)),
        tensor(buffer.tensor(dataset.dtype, {dataset.elements})) {}
  Buffer buffer;
  Tensor tensor;
};

void expect_same(const Tensor& left, const Tensor& right) {
  ASSERT_EQ(left.bytes(), right.bytes());
  EXPECT_TRUE(std::equal(static_cast<char*>(left.data()),
                         static_cast<char*>(left.data()) + left.bytes(),
                         static_cast<char*>(right.data())));
}

class OffloadFileTest : public testing::TestWithParam<BlockFile::Options> {
 protected:
  OffloadFile::Options options(bool keep = false) const {
    OffloadFile::Options options;
    options.blocks = GetParam();
    options.blocks.block_bytes = 1 << 16;
    options.keep = keep;
    return options;
  }
  const TempDirectory dir_;
  const std::string path_ = dir_.path("triax-7-rank-0.h5");
};
INSTANTIATE_TEST_SUITE_P(Ways, OffloadFileTest, testing::ValuesIn(all_ways()), name_of_way);

TEST_P(OffloadFileTest, RoundTripsAndIsReadByHdf5WhileItLives) {
  OffloadFile file(path_, few, options());
  std::vector<Elements> written(few.begin(), few.end());
  std::vector<BlockRequest> requests;
  for (std::size_t i = 0; i < few.size(); ++i) {
    fill_random(bytes_in(written[i].buffer), static_cast<unsigned>(i));
    requests.push_back(file.write(i, 0, written[i].tensor));
  }
  for (BlockRequest& request : requests) request.wait();
  const hdf5::File reader(path_, hdf5::File::Mode::read);
  EXPECT_EQ(reader.datasets("/").size(), few.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    Elements read(few[i]);
    file.read(i, 0, read.tensor).wait();
    expect_same(read.tensor, written[i].tensor);
    EXPECT_EQ(reader.dtype(few[i].name), few[i].dtype);
    EXPECT_EQ(reader.shape(few[i].name), Shape{few[i].elements});
    const Elements by_hdf5(few[i]);
    reader.read(few[i].name, {{{0}, {few[i].elements}}}, by_hdf5.tensor);
    expect_same(by_hdf5.tensor, written[i].tensor);
  }
}

TEST_P(OffloadFileTest, PartsAreReadAndWritten) {
  OffloadFile file(path_, few, options());
  const Elements whole(few[0]);
  const std::int64_t count = few[0].elements;
  auto* const values = whole.tensor.as<float>();
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  constexpr std::int64_t part = 5 * 1024;
  for (std::int64_t first = 0; first < count; first += part)
    file.write(0, first, whole.tensor.slice(0, first, std::min(part, count - first))).wait();
  const Buffer buffer(part * sizeof(float));
  const std::int64_t tail = count / part * part;
  file.read(0, tail, buffer.tensor(DType::f32, {count - tail})).wait();
  EXPECT_EQ(buffer.tensor(DType::f32, {1}).as<float>()[count - tail - 1],
            static_cast<float>(count - 1));
  file.read(0, 3072, buffer.tensor(DType::f32, {1024})).wait();
  EXPECT_EQ(buffer.tensor(DType::f32, {1}).as<float>()[7], 3079);
  file.read(0, tail, buffer.tensor(DType::f32, {padded_elements(DType::f32, count) - tail})).wait();
}

TEST_P(OffloadFileTest, IsRemovedUnlessKept) {
  { const OffloadFile file(path_, few, options()); }
  EXPECT_FALSE(std::filesystem::exists(path_));
  {
    OffloadFile file(path_, few, options(true));
    const Elements written(few[3]);
    fill_random(bytes_in(written.buffer), 1);
    file.write(3, 0, written.tensor).wait();
  }
  EXPECT_EQ(hdf5::File(path_, hdf5::File::Mode::read).datasets("/").size(), few.size());
}

TEST_P(OffloadFileTest, ANewFileOfTheNameIsNotRemoved) {
  {
    const OffloadFile file(path_, few, options());
    std::filesystem::remove(path_);
    (void)dir_.file("triax-7-rank-0.h5", "another's");
  }
  EXPECT_EQ(contents(path_), "another's");
}

TEST_P(OffloadFileTest, AStaleFileIsReplacedAndALiveOneRefused) {
  { const OffloadFile dead(path_, {{"/old", DType::f32, 1 << 20}}, options(true)); }
  {
    const OffloadFile file(path_, few, options());
    const hdf5::File reader(path_, hdf5::File::Mode::read);
    EXPECT_FALSE(reader.exists("/old"));
    EXPECT_THAT(error_of([&] { OffloadFile(path_, few, options()); }),
                AllOf(HasSubstr(path_), HasSubstr("another process is using it")));
    EXPECT_TRUE(std::filesystem::exists(path_));
    EXPECT_TRUE(reader.exists("/parameters/half"));
  }
  EXPECT_NO_THROW(OffloadFile(path_, few, options()));
}

TEST_P(OffloadFileTest, SpaceIsTakenAtTheStart) {
  const OffloadFile file(path_, few, options());
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, file.bytes());
  EXPECT_GE(status.st_blocks * 512, file.bytes());
  EXPECT_GT(file.bytes(), 4 * 1'000'003);
}

TEST_P(OffloadFileTest, WhatDoesNotFitIsAnErrorAtTheStart) {
  const std::vector<OffloadDataset> vast = {{"/a", DType::f32, std::int64_t{1} << 50}};
  EXPECT_THAT(error_of([&] { OffloadFile(path_, vast, options()); }),
              AllOf(HasSubstr("no room for " + path_), HasSubstr("No space left on device"),
                    HasSubstr("are missing")));
  EXPECT_FALSE(std::filesystem::exists(path_));
  const FileSizeLimit limit(1 << 20);
  EXPECT_THAT(error_of([&] { OffloadFile(path_, few, options(true)); }),
              AllOf(HasSubstr("no room for " + path_), HasSubstr("File too large")));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_P(OffloadFileTest, DirectoriesThatCannotBeUsedAreErrors) {
  EXPECT_THAT(error_of([&] { OffloadFile(dir_.path("none/a.h5"), few, options()); }),
              AllOf(HasSubstr("none/a.h5"), HasSubstr("No such file or directory")));
  std::filesystem::permissions(
      dir_.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  {
    const WithoutRights user;
    EXPECT_THAT(error_of([&] { OffloadFile(path_, few, options()); }),
                HasSubstr("Permission denied"));
  }
  std::filesystem::permissions(dir_.path(), std::filesystem::perms::owner_all);
}

TEST_P(OffloadFileTest, RangesThatAreNotPagesOfTheDatasetAreErrors) {
  OffloadFile file(path_, few, options());
  const Elements whole(few[0]);
  const auto part = [&](std::int64_t count) { return whole.tensor.slice(0, 0, count); };
  const auto error = [&](std::size_t dataset, std::int64_t first, const Tensor& tensor) {
    const std::string text = error_of([&] { file.write(dataset, first, tensor); });
    EXPECT_EQ(text, error_of([&] { file.read(dataset, first, tensor); }));
    return text;
  };
  EXPECT_THAT(error(0, 512, part(1024)), HasSubstr("do not fill pages"));
  EXPECT_THAT(error(0, 0, part(1000)), HasSubstr("do not fill pages"));
  EXPECT_THAT(error(0, -1024, part(1024)), HasSubstr("elements -1024"));
  EXPECT_THAT(error(0, 1024, part(1'000'003)), HasSubstr("1000003"));
  EXPECT_THAT(error(2, 0, part(2048)), HasSubstr("f32"));
  EXPECT_THAT(error(9, 0, part(1024)), HasSubstr("dataset 9"));
}

TEST_P(OffloadFileTest, AllocatesNothingOnceWarm) {
  OffloadFile file(path_, few, options());
  const Elements whole(few[0]);
  file.write(0, 0, whole.tensor).wait();
  const long before = allocation_count();
  for (int i = 0; i < 10; ++i) {
    file.write(0, 0, whole.tensor).wait();
    file.read(0, 0, whole.tensor).wait();
  }
  EXPECT_EQ(allocation_count() - before, 0);
}

// Writes of a dataset's padding must not overwrite HDF5's metadata.
TEST(OffloadFile, PaddingIsTheDatasetsAlone) {
  const TempDirectory dir;
  const std::string path = dir.path("a.h5");
  std::vector<OffloadDataset> many;
  for (int i = 0; i < 300; ++i)
    many.push_back({fmt::format("/group {}/x/block {}", i % 7, i), i % 2 ? DType::bf16 : DType::f32,
                    1 + (i * 7919) % 5000});
  const auto value = [](std::size_t i) { return static_cast<std::byte>(1 + i % 255); };
  const auto all_are = [&](std::span<const std::byte> bytes, std::size_t i) {
    return std::ranges::count(bytes, value(i)) == static_cast<std::ptrdiff_t>(bytes.size());
  };
  OffloadFile file(path, many, {});
  for (std::size_t i = 0; i < many.size(); ++i) {
    const Elements all(many[i]);
    std::ranges::fill(bytes_in(all.buffer), value(i));
    file.write(i, 0, all.tensor).wait();
  }
  const hdf5::File reader(path, hdf5::File::Mode::read);
  EXPECT_EQ(reader.datasets("/").size(), many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    ASSERT_EQ(reader.shape(many[i].name), Shape{many[i].elements});
    const Elements by_hdf5(many[i]);
    reader.read(many[i].name, {{{0}, {many[i].elements}}}, by_hdf5.tensor);
    const auto bytes =
        bytes_in(by_hdf5.buffer).first(static_cast<std::size_t>(by_hdf5.tensor.bytes()));
    ASSERT_TRUE(all_are(bytes, i)) << i;
    const Elements again(many[i]);
    file.read(i, 0, again.tensor).wait();
    ASSERT_TRUE(all_are(bytes_in(again.buffer), i)) << i;
  }
}

TEST(OffloadFile, Hdf5ToolsReadItWhileItLives) {
  const TempDirectory dir;
  const std::string path = dir.path("a.h5");
  OffloadFile file(path, few, {});
  const Elements written(few[0]);
  auto* const values = written.tensor.as<float>();
  for (std::int64_t i = 0; i < few[0].elements; ++i) values[i] = static_cast<float>(i) / 4;
  file.write(0, 0, written.tensor).wait();
  const std::string list = output_of("h5ls", "-r " + path);
  if (list == "absent\n") GTEST_SKIP() << "hdf5-tools is not installed";
  EXPECT_THAT(list, AllOf(HasSubstr("Dataset {1000003}"), HasSubstr("Dataset {70001}")));
  EXPECT_THAT(
      output_of("h5dump", "-y -w 80 -d '/optimizer/exp_avg/block 0' -s 999999 -c 4 " + path),
      AllOf(HasSubstr("H5T_IEEE_F32LE"), HasSubstr("250000, 250000, 250000, 250000")));
  EXPECT_THAT(output_of("h5dump", "-m %.2f -y -d '/optimizer/exp_avg/block 0' -s 9 -c 2 " + path),
              AllOf(HasSubstr("H5T_IEEE_F32LE"), HasSubstr("2.25,"), HasSubstr("2.50")));
  EXPECT_THAT(file.description(), AllOf(HasSubstr(path), HasSubstr("blocks of 1048576 bytes")));
}

TEST(RemoveLeftFiles, TakesTheDeadOnesOfTheName) {
  const TempDirectory directory;
  OffloadFile::Options keep;
  keep.keep = true;
  { const OffloadFile dead(directory.path("run-1.h5"), few, keep); }
  { const OffloadFile other(directory.path("other.h5"), few, keep); }
  const OffloadFile alive(directory.path("run-0.h5"), few, {});
  EXPECT_THAT(remove_left_files(directory.path(), "run-"),
              testing::ElementsAre(directory.path("run-1.h5")));
  EXPECT_TRUE(std::filesystem::exists(directory.path("run-0.h5")));
  EXPECT_TRUE(std::filesystem::exists(directory.path("other.h5")));
  EXPECT_THAT(remove_left_files(directory.path("absent"), ""), testing::IsEmpty());
}

}  // namespace
}  // namespace triax
