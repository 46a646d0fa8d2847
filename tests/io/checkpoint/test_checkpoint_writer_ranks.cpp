// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

const Shape shape{9, 7};

// Each rank writes its flat share of a tensor whose values are their indices.
void write_share(CheckpointWriter& writer, const std::string& name) {
  const std::int64_t n = shape.elements();
  const std::int64_t begin = n * world_rank() / world_size();
  const std::int64_t end = n * (world_rank() + 1) / world_size();
  std::vector<float> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0.0f);
  writer.write(name, hdf5::flat_range_boxes(shape, begin, end),
               Tensor(all.data() + begin, {end - begin}));
}

std::string written(const SharedDirectory& dir) {
  const std::string path = checkpoint_path(dir.path("sub"), 50);
  CheckpointWriter writer(path, MPI_COMM_WORLD);
  writer.create(example_header(),
                {{"/model/w", DType::f32, shape}, {"/optimizer/m/w", DType::f32, shape}});
  write_share(writer, "/model/w");
  write_share(writer, "/optimizer/m/w");
  writer.publish();
  return path;
}

// Otherwise a thousand ranks would each scan the file.
TEST(CheckpointRanks, OneRankOpensItForAllToKnowWhatIsThere) {
  const SharedDirectory dir;
  const std::string path = written(dir);
  const auto body = [&] {
    const CheckpointReader reader(path, MPI_COMM_WORLD);
    EXPECT_EQ(reader.path(), path);
    EXPECT_EQ(reader.real_path(), std::filesystem::canonical(path));
    EXPECT_TRUE(reader.has_checksums());
    EXPECT_EQ(reader.header().job, example_header().job);
    EXPECT_EQ(reader.header().step, example_header().step);
    ASSERT_EQ(reader.tensors().size(), 2U);
    EXPECT_EQ(reader.tensor("/model/w").dtype, DType::f32);
    EXPECT_EQ(reader.shape("/optimizer/m/w"), shape);
    EXPECT_FALSE(reader.contains("/model/x"));
    EXPECT_THAT(error_of([&] { (void)reader.shape("/model/x"); }),
                AllOf(HasSubstr(path), HasSubstr("no tensor /model/x")));
  };
  if (world_rank() == 0)
    body();
  else
    with_refused(SYS_openat, {}, EMFILE, body);
}

TEST(CheckpointRanks, WriteOneFile) {
  const SharedDirectory dir;
  const std::string path = written(dir);
  const CheckpointReader reader(path);
  EXPECT_EQ(reader.header().job, example_header().job);
  std::vector<float> out(static_cast<std::size_t>(shape.elements()));
  for (const char* name : {"/model/w", "/optimizer/m/w"}) {
    reader.read(name, {{{}, shape}}, Tensor(out.data(), shape));
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<float>(i));
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(CheckpointRanks, AFailureOfOneIsAnErrorOnAll) {
  const SharedDirectory dir;
  const std::string path = checkpoint_path(dir.path(), 1);
  const int failing = world_size() - 1;
  {
    CheckpointWriter writer(path, MPI_COMM_WORLD);
    writer.create(example_header(), {{"/model/w", DType::f32, shape}});
    float value = 0;
    if (world_rank() == failing) writer.write("/model/absent", {{{0}, {1}}}, Tensor(&value, {1}));
    EXPECT_THAT(error_of([&] { writer.publish(); }),
                AllOf(HasSubstr("was not written"), HasSubstr("/model/absent")));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(CheckpointRanks, WhatOneRankCouldNotGetIsAnErrorOnAll) {
  const SharedDirectory dir;
  const std::string path = checkpoint_path(dir.path(), 1);
  {
    CheckpointWriter writer(path, MPI_COMM_WORLD);
    writer.create(example_header(), {{"/model/w", DType::f32, shape}});
    write_share(writer, "/model/w");
    if (world_rank() == world_size() - 1) writer.fail("the disk of the moments is gone");
    EXPECT_THAT(error_of([&] { writer.publish(); }), HasSubstr("the disk of the moments is gone"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(CheckpointRanks, AFullDiskOnOneRankIsAnErrorOnAll) {
  const SharedDirectory dir;
  const std::string path = checkpoint_path(dir.path(), 1);
  constexpr std::int64_t n = 1 << 19;  // 2 MiB per rank
  std::vector<float> data(n, 1);
  {
    CheckpointWriter writer(path, MPI_COMM_WORLD);
    writer.create(example_header(), {{"/model/w", DType::f32, {n * world_size()}}});
    {
      const FileSizeLimit limit(world_rank() == world_size() - 1 ? 1 << 20 : RLIM_INFINITY);
      writer.write("/model/w", {{{n * world_rank()}, {n}}}, Tensor(data.data(), {n}));
      writer.flush();
    }
    EXPECT_THAT(error_of([&] { writer.publish(); }),
                AllOf(HasSubstr("was not written"), HasSubstr("File too large")));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(CheckpointRanks, AnUnwritableDirectoryIsAnErrorOnAll) {
  const SharedDirectory dir;
  if (world_rank() == 0) std::ofstream(dir.path("file")) << "x";
  const std::string path = dir.path("file/step-000001.h5");
  EXPECT_THAT(error_of([&] { CheckpointWriter(path, MPI_COMM_WORLD); }),
              HasSubstr("Not a directory"));
}

TEST(CheckpointRanks, UnpublishedFilesAreRemoved) {
  const SharedDirectory dir;
  {
    CheckpointWriter writer(checkpoint_path(dir.path(), 1), MPI_COMM_WORLD);
    writer.create(example_header(), {{"/model/w", DType::f32, shape}});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace triax
