// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/tools/checkpoint_diff.hpp"
#include "io/checkpoint/tools/checkpoint_inspect.hpp"
#include "io/checkpoint/tools/checkpoint_verify.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Shape shape{550, 3000};  // four chunks

// All ranks write their columns: ranges within one row, some of which cross chunks.
std::string write_columns(const SharedDirectory& dir) {
  const std::string path = checkpoint_path(dir.path(), 50);
  const std::int64_t begin = shape[1] * world_rank() / world_size();
  const std::int64_t columns = shape[1] * (world_rank() + 1) / world_size() - begin;
  std::vector<float> own;
  for (std::int64_t row = 0; row < shape[0]; ++row)
    for (std::int64_t column = begin; column < begin + columns; ++column)
      own.push_back(static_cast<float>(row * shape[1] + column));
  CheckpointWriter writer(path, MPI_COMM_WORLD);
  writer.create(example_header(), {{"/model/w", DType::f32, shape}});
  const Shape part{shape[0], columns};
  writer.write("/model/w", {{{0, begin}, part}}, Tensor(own.data(), part));
  writer.publish();
  return path;
}

TEST(CheckpointVerifyRanks, OneThatMayOpenNoMoreFilesIsAnErrorOnAllWithItsReason) {
  const SharedDirectory dir;
  const std::string path = write_columns(dir);
  const int last = world_size() - 1;
  std::string error;
  const auto body = [&] { error = error_of([&] { verify_checkpoint(path, MPI_COMM_WORLD); }); };
  if (world_rank() == last)
    with_refused(SYS_openat, {}, EMFILE, body);
  else
    body();
  EXPECT_THAT(error, AllOf(HasSubstr("cannot open " + path), HasSubstr("Too many open files"),
                           HasSubstr("ulimit -n")));
  EXPECT_THAT(error, HasSubstr(last > 0 ? fmt::format("rank {}: ", last) : std::string()));
}

TEST(CheckpointVerifyRanks, ChecksumsDoNotDependOnWhoWrites) {
  const SharedDirectory dir;
  const std::string path = write_columns(dir);
  const std::string alone = dir.path("alone.h5");
  if (world_rank() == 0) {
    std::vector<float> all(static_cast<std::size_t>(shape.elements()));
    std::iota(all.begin(), all.end(), 0.0F);
    write_example(alone, {{"/model/w", DType::f32, shape}}, {all});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const auto checksums = [](const std::string& file) {
    const CheckpointReader reader(file);
    return reader.checksums(reader.tensor("/model/w"), reader.checksum_block());
  };
  EXPECT_EQ(checksums(path).size(), 4U);
  EXPECT_EQ(checksums(path), checksums(alone));
  EXPECT_THAT(verify_checkpoint(path, MPI_COMM_WORLD).damaged, IsEmpty());
  EXPECT_FALSE(diff_checkpoints(path, alone, false, MPI_COMM_WORLD).tensors);
}

TEST(CheckpointVerifyRanks, EveryRankHearsOfDamage) {
  const SharedDirectory dir;
  const std::string path = write_columns(dir);
  if (world_rank() == 0) {
    const std::int64_t base = hdf5::File(path, hdf5::File::Mode::read).offset("/model/w");
    flip_bit(path, base + 5, 0);
    flip_bit(path, base + shape.elements() * 4 - 1, 6);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const std::int64_t block = 4 * integrity_block;  // bytes
  EXPECT_THAT(verify_checkpoint(path, MPI_COMM_WORLD).damaged,
              ElementsAre(DamagedBlock{"/model/w", 0, 0, block},
                          DamagedBlock{"/model/w", 3, 3 * block, shape.elements() * 4}));
  EXPECT_THAT(error_of([&] { require_whole(path, MPI_COMM_WORLD); }),
              AllOf(HasSubstr("is damaged"), HasSubstr("2 of its blocks")));
}

// Data that no rank wrote are reported as damage.
TEST(CheckpointVerifyRanks, AMissingPartIsFound) {
  const SharedDirectory dir;
  const std::string path = checkpoint_path(dir.path(), 1);
  {
    CheckpointWriter writer(path, MPI_COMM_WORLD);
    writer.create(example_header(), {{"/model/w", DType::f32, {8}}});
    std::vector<float> some(7, 1);
    if (world_rank() == 0) writer.write("/model/w", {{{0}, {7}}}, Tensor(some.data(), {7}));
    writer.publish();
  }
  EXPECT_EQ(verify_checkpoint(path, MPI_COMM_WORLD).damaged.size(), 1U);
}

TEST(CheckpointVerifyRanks, StatisticsDoNotDependOnTheRanks) {
  const SharedDirectory dir;
  const std::string path = write_columns(dir);
  EXPECT_EQ(inspect_checkpoint(path, true, MPI_COMM_WORLD), inspect_checkpoint(path, true));
}

TEST(CheckpointVerifyRanks, AFileThatIsNotThereIsAnErrorOnAll) {
  const SharedDirectory dir;
  EXPECT_THAT(error_of([&] { verify_checkpoint(dir.path("none.h5"), MPI_COMM_WORLD); }),
              HasSubstr("No such file"));
}

}  // namespace
}  // namespace triax
