// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "kernels/base/device/device.hpp"
#include "tests/io/checkpoint_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<CheckpointTensor> tensors = {{"/model/a.weight", DType::f32, {2, 3}},
                                               {"/optimizer/exp_avg/a.weight", DType::f32, {2, 3}}};
const std::vector<std::vector<float>> values = {{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}};

TEST(CheckpointFile, RoundTrips) {
  const TempDirectory dir;
  const std::string path = checkpoint_path(dir.path("new/directory"), 50);
  write_example(path, tensors, values);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  const CheckpointReader reader(path);
  const CheckpointHeader expected = example_header();
  EXPECT_EQ(reader.header().format_version, 2);
  EXPECT_EQ(reader.header().step, 50);
  EXPECT_EQ(reader.header().tokens, 51200);
  EXPECT_EQ(reader.header().samples, 400);
  EXPECT_EQ(reader.header().job, expected.job);
  EXPECT_EQ(reader.header().model, expected.model);
  EXPECT_EQ(reader.header().grid, expected.grid);
  EXPECT_EQ(reader.header().version, expected.version);
  ASSERT_EQ(reader.tensors().size(), 2u);
  EXPECT_EQ(reader.tensors()[1].name, "/optimizer/exp_avg/a.weight");
  EXPECT_EQ(reader.tensors()[1].dtype, DType::f32);
  EXPECT_EQ(reader.shape("/model/a.weight"), (Shape{2, 3}));
  EXPECT_TRUE(reader.contains("/model/a.weight"));
  EXPECT_FALSE(reader.contains("/model/b.weight"));
  std::vector<float> out(3);
  reader.read("/model/a.weight", hdf5::flat_range_boxes({2, 3}, 2, 5), Tensor(out.data(), {3}));
  EXPECT_THAT(out, ElementsAre(3, 4, 5));
}

// Long and short pieces, in memory that is aligned like the file's pages and in memory that is not.
TEST(CheckpointFile, PartsOfAnyLengthAndPlaceAreWritten) {
  const TempDirectory dir;
  constexpr std::int64_t count = 3'000'001;
  constexpr std::int64_t page = 1024;  // elements
  const std::vector<std::int64_t> ends = {1'000'003, 1'000'010, 2'000'000, count};
  Buffer memory((count + page) * sizeof(float));
  for (const Lifetime lifetime : {Lifetime::call, Lifetime::finish})
    for (const std::int64_t shift : {std::int64_t{0}, std::int64_t{3}}) {
      float* const data = static_cast<float*>(memory.data()) + shift;
      std::iota(data, data + count, static_cast<float>(shift));
      const std::string path = dir.path("step-000001.h5");
      CheckpointWriter writer(path, MPI_COMM_NULL);
      writer.create(example_header(), {{"/model/long", DType::f32, {count}}});
      std::int64_t begin = 0;
      for (const std::int64_t end : ends) {
        writer.write("/model/long", {{{begin}, {end - begin}}}, Tensor(data + begin, {end - begin}),
                     lifetime);
        begin = end;
      }
      writer.publish();
      std::vector<float> read(count);
      CheckpointReader(path).read("/model/long", {{{0}, {count}}}, Tensor(read.data(), {count}));
      EXPECT_TRUE(std::equal(read.begin(), read.end(), data)) << shift;
      EXPECT_TRUE(verify_checkpoint(path, MPI_COMM_NULL).damaged.empty()) << shift;
    }
}

TEST(CheckpointFile, AppearsOnlyWhenPublished) {
  const TempDirectory dir;
  const std::string path = dir.path("step-000001.h5");
  dir.file("step-000001.h5.tmp", "stale");
  {
    CheckpointWriter writer(path, MPI_COMM_NULL);
    writer.create(example_header(), tensors);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

// HDF5's own tools read the file.
TEST(CheckpointFile, IsPlainHdf5) {
  const TempDirectory dir;
  write_example(dir.path("c.h5"), tensors, values);
  if (std::system("command -v h5dump > /dev/null && command -v h5ls > /dev/null") == 0) {
    const auto run = [&](const std::string& command) {
      const std::string out = dir.path("out");
      EXPECT_EQ(std::system((command + " > " + out + " 2>&1").c_str()), 0) << contents(out);
      return contents(out);
    };
    const std::string file = dir.path("c.h5");
    EXPECT_THAT(run("h5ls -r " + file), HasSubstr("/model/a.weight          Dataset {2, 3}"));
    EXPECT_THAT(run("h5dump -d /model/a.weight " + file), HasSubstr("(1,0): 4, 5, 6"));
    EXPECT_THAT(run("h5dump -a step " + file), HasSubstr("(0): 50"));
  }
  const hdf5::File file(dir.path("c.h5"), hdf5::File::Mode::read);
  EXPECT_EQ(file.integer_attribute("/", "step"), 50);
  EXPECT_EQ(file.string_attribute("/", "triax_version"), "0.1.0");
}

// The metadata of a file of many tensors lie before all data, so that few reads suffice.
TEST(CheckpointFile, BeginsWithWhatDescribesIt) {
  const TempDirectory dir;
  const std::string path = checkpoint_path(dir.path(""), 1);
  std::vector<CheckpointTensor> many;
  for (const char* group : {"/model/", "/optimizer/exp_avg/", "/optimizer/exp_avg_sq/"})
    for (int layer = 0; layer < 48; ++layer)
      for (const char* part : {"attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight"})
        many.push_back({fmt::format("{}h.{}.{}", group, layer, part), DType::f32, {200, 300}});
  CheckpointWriter writer(path, MPI_COMM_NULL);
  writer.create(example_header(), many);
  writer.publish();

  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  haddr_t first_data = HADDR_MAX;
  haddr_t last_object = 0;
  const auto look_at = [&](const std::string& name, bool tensor) {
    const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
    H5O_info_t info;
    ASSERT_GE(H5Oget_info(dataset, &info), 0) << name;
    last_object = std::max(last_object, info.addr);
    const haddr_t data = H5Dget_offset(dataset);
    tensor ? first_data = std::min(first_data, data) : last_object = std::max(last_object, data);
    H5Dclose(dataset);
  };
  for (const CheckpointTensor& tensor : many) {
    look_at(tensor.name, true);
    look_at("/integrity" + tensor.name, false);
  }
  H5Fclose(file);
  EXPECT_LT(last_object, first_data);
}

TEST(CheckpointFile, AnUnwritableDirectoryIsAnError) {
  const TempDirectory dir;
  const std::string blocked = dir.file("file", "") + "/checkpoints/step-000001.h5";
  EXPECT_THAT(error_of([&] { CheckpointWriter(blocked, MPI_COMM_NULL); }),
              AllOf(HasSubstr("file/checkpoints"), HasSubstr("Not a directory"),
                    HasSubstr("checkpoint.directory")));
  std::filesystem::create_directories(dir.path("d/step-000001.h5.tmp"));
  EXPECT_THAT(error_of([&] { CheckpointWriter(dir.path("d/step-000001.h5"), MPI_COMM_NULL); }),
              HasSubstr("Is a directory"));
}

TEST(CheckpointFile, AFullDiskLeavesTheEarlierOnes) {
  const TempDirectory dir;
  const std::string earlier = checkpoint_path(dir.path(), 1);
  write_example(earlier, tensors, values);
  const std::string before = contents(earlier);
  {
    const FileSizeLimit limit(1 << 20);
    CheckpointWriter writer(checkpoint_path(dir.path(), 2), MPI_COMM_NULL);
    EXPECT_THAT(
        error_of([&] {
          writer.create(example_header(), {{"/model/w", DType::f32, {1 << 20}}});
        }),
        AllOf(HasSubstr("no room"), HasSubstr("File too large"), HasSubstr("step-000002.h5")));
  }
  EXPECT_THAT(list_checkpoints(dir.path()), ElementsAre(earlier));
  EXPECT_FALSE(std::filesystem::exists(checkpoint_path(dir.path(), 2) + ".tmp"));
  EXPECT_EQ(contents(earlier), before);
}

// The disk fills after the file was created: publish() reports the failed write.
TEST(CheckpointFile, AFailedWriteIsNotPublished) {
  const TempDirectory dir;
  const std::string path = checkpoint_path(dir.path(), 2);
  std::vector<float> data(1 << 20, 1);
  CheckpointWriter writer(path, MPI_COMM_NULL);
  writer.create(example_header(), {{"/model/w", DType::f32, {1 << 20}}});
  {
    const FileSizeLimit limit(1 << 20);
    EXPECT_NO_THROW(writer.write("/model/w", {{{0}, {1 << 20}}}, Tensor(data.data(), {1 << 20})));
    writer.flush();
  }
  EXPECT_THAT(error_of([&] { writer.publish(); }),
              AllOf(HasSubstr("was not written"), HasSubstr("File too large"),
                    HasSubstr("step-000002.h5.tmp")));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(CheckpointFile, AFailedRenameIsNotPublished) {
  const TempDirectory dir;
  std::filesystem::create_directories(dir.path("step-000001.h5/occupied"));
  CheckpointWriter writer(dir.path("step-000001.h5"), MPI_COMM_NULL);
  writer.create(example_header(), {});
  EXPECT_THAT(error_of([&] { writer.publish(); }), HasSubstr("rename"));
  EXPECT_FALSE(std::filesystem::exists(dir.path("step-000001.h5.tmp")));
}

TEST(CheckpointFile, KeepsAFileThatCameMeanwhileWhereAsked) {
  const TempDirectory dir;
  const std::string path = dir.path("c.h5");
  CheckpointWriter writer(path, MPI_COMM_NULL, {.existing = Existing::kept});
  writer.create(example_header(), {{"/model/a", DType::f32, {1}}});
  float value = 1.0F;
  writer.write("/model/a", {{{}, {1}}}, Tensor(&value, {1}));
  dir.file("c.h5", "another's");
  EXPECT_THAT(error_of([&] { writer.publish(); }), HasSubstr("it was created during this write"));
  EXPECT_EQ(contents(path), "another's");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

}  // namespace
}  // namespace triax
