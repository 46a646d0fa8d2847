// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_parts.hpp"

#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Expects that all rows are assigned once and in order. Returns the bytes of each part file.
std::vector<std::int64_t> bytes_of_parts(const std::vector<CheckpointTensor>& tensors,
                                         std::size_t parts) {
  const auto dealt = deal_tensors(tensors, parts);
  std::vector<std::int64_t> bytes(parts);
  EXPECT_THAT(dealt, SizeIs(tensors.size()));
  for (std::size_t t = 0; t < dealt.size(); ++t) {
    std::int64_t row = 0;
    const std::int64_t rows = tensors[t].shape.rank() == 0 ? 1 : tensors[t].shape[0];
    for (const TensorSlice& slice : dealt[t]) {
      EXPECT_EQ(slice.begin, row);
      EXPECT_LT(slice.part, parts);
      row = slice.end;
      if (rows > 0) bytes[slice.part] += tensors[t].bytes() / rows * (slice.end - slice.begin);
    }
    EXPECT_EQ(row, rows);
  }
  return bytes;
}

TEST(DealTensors, GivesEachPartAboutAsMuch) {
  std::vector<CheckpointTensor> tensors = {{"/model/wte", DType::f32, {1000, 64}},
                                           {"/model/scalar", DType::f32, {}}};
  for (int i = 0; i < 20; ++i) {
    tensors.push_back({fmt::format("/model/w{}", i), DType::bf16, {64, 256}});
    tensors.push_back({fmt::format("/model/b{}", i), DType::f32, {64}});
  }
  std::int64_t total = 0;
  for (const CheckpointTensor& tensor : tensors) total += tensor.bytes();
  for (const std::size_t parts : {1, 2, 3, 7}) {
    const std::vector<std::int64_t> bytes = bytes_of_parts(tensors, parts);
    for (const std::int64_t part : bytes)
      EXPECT_NEAR(static_cast<double>(part),
                  static_cast<double>(total) / static_cast<double>(parts),
                  0.2 * static_cast<double>(total) / static_cast<double>(parts));
  }
}

TEST(DealTensors, HasPlaceForOddTensors) {
  EXPECT_THAT(bytes_of_parts({{"/a", DType::f32, {}}}, 4), ElementsAre(4, 0, 0, 0));
  bytes_of_parts({{"/a", DType::f32, {0, 3}}, {"/b", DType::f32, {1, 1000}}}, 3);
  EXPECT_THAT(bytes_of_parts({}, 2), ElementsAre(0, 0));
}

const std::vector<CheckpointTensor> tensors = {{"/model/wte", DType::f32, {50, 7}},
                                               {"/model/scale", DType::f32, {}},
                                               {"/model/w", DType::f32, {9, 4}},
                                               {"/optimizer/exp_avg/wte", DType::f32, {50, 7}},
                                               {"/optimizer/exp_avg/w", DType::f32, {9, 4}}};

// Flips a bit in the first dataset of a part file and returns that dataset's name.
std::string damage_first_value(const std::string& part) {
  std::string name;
  std::int64_t offset = 0;
  {  // closed again: HDF5 does not read a part through the master while it is open itself
    const hdf5::File file(part, hdf5::File::Mode::read);
    name = file.datasets("/").front();
    offset = file.offset(name);
  }
  flip_bit(part, offset + 2, 1);
  return name;
}

class Parts : public testing::Test {
 protected:
  static std::vector<float> values(std::size_t tensor) {
    std::vector<float> all(static_cast<std::size_t>(tensors[tensor].shape.elements()));
    std::iota(all.begin(), all.end(), static_cast<float>(1000 * tensor) + 0.5F);
    return all;
  }
  void write(const std::string& path, int files) const {
    CheckpointOptions options;
    options.files = files;
    CheckpointWriter writer(path, MPI_COMM_NULL, options);
    writer.create(example_header(), tensors);
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      std::vector<float> all = values(t);
      writer.write(tensors[t].name, {{{}, tensors[t].shape}}, Tensor(all.data(), tensors[t].shape));
    }
    writer.publish();
  }
  static void expect_all(const std::string& path) {
    const CheckpointReader reader(path);
    ASSERT_THAT(reader.tensors(), SizeIs(tensors.size()));
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      std::vector<float> out(static_cast<std::size_t>(tensors[t].shape.elements()));
      reader.read(tensors[t].name, {{{}, tensors[t].shape}}, Tensor(out.data(), tensors[t].shape));
      EXPECT_EQ(out, values(t)) << tensors[t].name;
    }
    EXPECT_THAT(verify_checkpoint(path, MPI_COMM_NULL).damaged, IsEmpty());
  }
  std::size_t entries(const std::string& path) const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
  TempDirectory dir_;
  std::string path_ = checkpoint_path(dir_.path(), 50);
};

TEST_F(Parts, AreReadThroughTheMaster) {
  for (const int files : {2, 3, 8}) {
    write(path_, files);
    expect_all(path_);
  }
  write(path_, 3);
  EXPECT_GT(CheckpointReader(path_).file_bytes(),
            static_cast<std::int64_t>(std::filesystem::file_size(path_)) + 3000);
}

TEST_F(Parts, MoveWithTheirDirectory) {
  write(path_, 3);
  const std::string moved = dir_.path("moved");
  std::filesystem::create_directory(moved);
  std::filesystem::rename(path_, moved + "/step-000050.h5");
  std::filesystem::rename(path_ + ".parts", moved + "/step-000050.h5.parts");
  expect_all(moved + "/step-000050.h5");
}

TEST_F(Parts, AreReadByPlainTools) {
  write(path_, 3);
  if (std::system("command -v h5dump > /dev/null") != 0) GTEST_SKIP() << "no h5dump";
  const std::string out = dir_.path("out");
  ASSERT_EQ(std::system(("cd / && h5dump -d /model/w " + path_ + " > " + out).c_str()), 0);
  EXPECT_THAT(contents(out), HasSubstr("(8,0): 2032.5, 2033.5, 2034.5, 2035.5"));
  ASSERT_EQ(std::system(("h5ls -r " + path_ + " > " + out).c_str()), 0);
  EXPECT_THAT(contents(out), HasSubstr("/model/w                 Dataset {9, 4}"));
}

// A link to a checkpoint, in the directory of another run that has parts of the same name.
TEST_F(Parts, BesideALinkAreNotTheFiles) {
  write(path_, 2);
  const std::string other = dir_.path("other");
  std::filesystem::create_directory(other);
  std::filesystem::copy(path_ + ".parts", other + "/step-000050.h5.parts");
  damage_first_value(other + "/step-000050.h5.parts/part-000.h5");
  const std::string link = other + "/kept.h5";
  std::filesystem::create_symlink(path_, link);
  expect_all(link);
}

TEST_F(Parts, ThatAreMissingOrShortAreErrors) {
  write(path_, 2);
  const std::string part = path_ + ".parts/part-001.h5";
  std::filesystem::resize_file(part, std::filesystem::file_size(part) - 8);
  EXPECT_THAT(error_of([&] { CheckpointReader{path_}; }),
              AllOf(HasSubstr("part-001.h5"), HasSubstr("is damaged")));
  std::filesystem::remove(part);
  EXPECT_THAT(error_of([&] { CheckpointReader{path_}; }),
              AllOf(HasSubstr("part-001.h5"), HasSubstr("No such file"), HasSubstr("together")));
}

TEST_F(Parts, DamageInThemIsFound) {
  write(path_, 2);
  const std::string name = damage_first_value(path_ + ".parts/part-000.h5");
  const auto damaged = verify_checkpoint(path_, MPI_COMM_NULL).damaged;
  ASSERT_THAT(damaged, SizeIs(1));
  EXPECT_EQ(damaged.front().tensor, name);
}

TEST_F(Parts, GoWithTheirCheckpoint) {
  for (const int step : {10, 20, 30, 40}) write(checkpoint_path(dir_.path(), step), 2);
  EXPECT_EQ(entries(dir_.path()), 8U);
  prune_checkpoints(dir_.path(), 3);
  EXPECT_FALSE(std::filesystem::exists(checkpoint_path(dir_.path(), 10) + ".parts"));
  EXPECT_EQ(entries(dir_.path()), 6U);
  // A superseded file keeps its parts; a new file of its name gets others.
  EXPECT_THAT(set_aside_later(dir_.path(), 30), SizeIs(1));
  const std::string again = checkpoint_path(dir_.path(), 40);
  write(again, 2);
  expect_all(again);
  expect_all(again + ".superseded");
  EXPECT_TRUE(std::filesystem::exists(again + ".parts-1"));
  EXPECT_THAT(remove_unfinished(dir_.path()), IsEmpty());
  // The file is replaced in place: no file refers to the older parts.
  write(again, 2);
  std::filesystem::create_directory(dir_.path("step-000099.h5.parts"));
  std::filesystem::create_directory(dir_.path("mine.parts"));
  EXPECT_THAT(remove_unfinished(dir_.path()),
              ElementsAre(again + ".parts-1", dir_.path("step-000099.h5.parts")));
  expect_all(again);
  expect_all(again + ".superseded");
}

// Pruning removes only parts that no other file uses: not those of a link's target elsewhere, nor
// those that a copy of the master refers to.
TEST_F(Parts, OfOthersStayWhenOldFilesGo) {
  const std::string elsewhere = dir_.path("elsewhere");
  std::filesystem::create_directory(elsewhere);
  write(checkpoint_path(elsewhere, 30), 2);
  std::filesystem::create_symlink(checkpoint_path(elsewhere, 30), checkpoint_path(dir_.path(), 10));
  for (const int step : {20, 30}) write(checkpoint_path(dir_.path(), step), 2);
  std::filesystem::copy_file(checkpoint_path(dir_.path(), 20), dir_.path("best.h5"));
  prune_checkpoints(dir_.path(), 1);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(checkpoint_path(dir_.path(), 30)));
  expect_all(checkpoint_path(dir_.path(), 30));
  expect_all(checkpoint_path(elsewhere, 30));
  expect_all(dir_.path("best.h5"));
}

TEST_F(Parts, StayWhereTheirCheckpointGotAnotherName) {
  const std::string path = checkpoint_path(dir_.path(), 10);
  write(path, 2);
  std::filesystem::rename(path, dir_.path("best.h5"));
  EXPECT_THAT(remove_unfinished(dir_.path()), IsEmpty());
  expect_all(dir_.path("best.h5"));
  std::filesystem::remove(dir_.path("best.h5"));
  EXPECT_THAT(remove_unfinished(dir_.path()), ElementsAre(path + ".parts"));
}

TEST_F(Parts, OfAnUnfinishedFileAreRemoved) {
  {
    CheckpointOptions options;
    options.files = 2;
    CheckpointWriter writer(path_, MPI_COMM_NULL, options);
    writer.create(example_header(), tensors);
    EXPECT_TRUE(std::filesystem::exists(path_ + ".parts/part-001.h5"));
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  EXPECT_EQ(entries(dir_.path()), 0U);
}

TEST_F(Parts, AFullDiskLeavesNothing) {
  const FileSizeLimit limit(1 << 20);
  CheckpointOptions options;
  options.files = 2;
  CheckpointWriter writer(path_, MPI_COMM_NULL, options);
  EXPECT_THAT(error_of([&] {
                writer.create(example_header(), {{"/model/w", DType::f32, {1 << 20, 1}}});
              }),
              AllOf(HasSubstr("no room"), HasSubstr("part-000.h5")));
  EXPECT_EQ(entries(dir_.path()), 0U);
}

// The disk has space for each part, but not for all.
TEST_F(Parts, ADiskWithoutRoomForAllIsNotFilledWithTheFirst) {
  const auto free = static_cast<std::int64_t>(std::filesystem::space(dir_.path()).available);
  CheckpointOptions options;
  options.files = 4;
  CheckpointWriter writer(path_, MPI_COMM_NULL, options);
  constexpr std::int64_t row = 1024;  // elements
  EXPECT_THAT(
      error_of([&] {
        writer.create(example_header(), {{"/model/w", DType::f32, {free / 4 / row * 2, row}}});
      }),
      AllOf(HasSubstr("no room for " + path_ + ".parts"), HasSubstr("are missing")));
  EXPECT_EQ(entries(dir_.path()), 0U);
}

TEST_F(Parts, AMasterThatAnotherProgramStoredAnewIsRefusedWithTheReason) {
  write(path_, 3);
  if (std::system("command -v h5repack > /dev/null") != 0) GTEST_SKIP() << "no h5repack";
  const std::string again = dir_.path("again.h5");
  ASSERT_EQ(std::system(("cd / && h5repack " + path_ + " " + again).c_str()), 0);
  EXPECT_THAT(error_of([&] { CheckpointReader{again}; }),
              AllOf(HasSubstr("h5repack"), HasSubstr("as triax wrote it")));
}

TEST(PartsDirectory, IsToldByItsName) {
  std::string master;
  EXPECT_TRUE(is_parts_directory("step-000050.h5.parts", master));
  EXPECT_EQ(master, "step-000050.h5");
  EXPECT_TRUE(is_parts_directory("step-000050.h5.parts-12", master));
  for (const char* other : {"", "step-000050.h5", "a.parts", "step-000050.h5.parts-",
                            "step-000050.h5.parts-x", "../step-000050.h5.parts"})
    EXPECT_FALSE(is_parts_directory(other, master)) << other;
  EXPECT_THAT(error_of([] { parse_parts(R"({"directory": "/etc", "bytes": [1]})"); }),
              HasSubstr("damaged"));
  EXPECT_THAT(error_of([] { parse_parts("[3"); }), HasSubstr("damaged"));
}

}  // namespace
}  // namespace triax
