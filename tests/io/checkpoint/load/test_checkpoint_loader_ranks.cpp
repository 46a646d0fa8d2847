// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "io/checkpoint/load/checkpoint_blocks.hpp"
#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

const Shape shape{1250, 3000};  // eight chunks
const std::vector<CheckpointTensor> tensors = {{"/model/b", DType::f32, {11}},
                                               {"/model/w", DType::f32, shape},
                                               {"/optimizer/exp_avg/w", DType::f32, shape}};

struct Need {
  std::string name;
  std::vector<hdf5::Box> boxes;
};
using Needs = std::vector<Need>;

// Nodes: all ranks on one, one rank per node, two ranks per node.
std::vector<int> node_choices() {
  return {-1, world_rank(), world_rank() / 2};
}

float value_of(const CheckpointTensor& tensor, std::int64_t index) {
  return static_cast<float>(index % 8191) + static_cast<float>(tensor.name.size()) * 8192.0F;
}

class LoaderRanks : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (world_rank() == 0) write();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void write() const {
    CheckpointOptions options;
    options.files = GetParam();
    CheckpointWriter writer(path_, MPI_COMM_NULL, options);
    writer.create(example_header(), tensors);
    for (const CheckpointTensor& tensor : tensors) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < tensor.shape.elements(); ++i)
        values.push_back(value_of(tensor, i));
      writer.write(tensor.name, {{{}, tensor.shape}}, Tensor(values.data(), tensor.shape));
    }
    writer.publish();
  }
  // Loads the needs and compares. Returns the bytes that all ranks read from disk.
  std::int64_t load(const Needs& needs, const LoaderOptions& options) const {
    const CheckpointReader reader(path_);
    CheckpointLoader loader(reader, MPI_COMM_WORLD, options);
    for (const auto& [name, boxes] : needs) loader.want(name, boxes);
    std::int64_t wrong = 0;
    for (const auto& [name, boxes] : needs) {
      std::vector<float> found(static_cast<std::size_t>(hdf5::elements(boxes)));
      loader.read(name, boxes, Tensor(found.data(), {std::ssize(found)}));
      const auto tensor = std::ranges::find(tensors, name, &CheckpointTensor::name);
      auto at = found.begin();
      for (const auto& [first, count] : hdf5::runs_of(tensor->shape, boxes))
        for (std::int64_t i = first; i < first + count; ++i)
          wrong += *at++ != value_of(*tensor, i) ? 1 : 0;
    }
    loader.finish();
    EXPECT_EQ(wrong, 0);
    std::int64_t bytes = loader.bytes_read();
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return bytes;
  }
  static std::int64_t all_bytes() {
    std::int64_t bytes = 0;
    for (const CheckpointTensor& tensor : tensors) bytes += tensor.bytes();
    return bytes;
  }
  static Needs all_of_it() {
    Needs needs;
    for (const CheckpointTensor& tensor : tensors)
      needs.push_back({tensor.name, {{{}, tensor.shape}}});
    return needs;
  }
  // This rank's share of each tensor: columns, or a range of elements.
  static Needs part(bool by_columns) {
    Needs needs;
    for (const auto& [name, ignored, all] : tensors) {
      const std::int64_t size = by_columns ? all[all.rank() - 1] : all.elements();
      const std::int64_t begin = size * world_rank() / world_size();
      const std::int64_t end = size * (world_rank() + 1) / world_size();
      needs.push_back({name, by_columns ? hdf5::clipped({{{}, all}}, all.rank() - 1, begin, end)
                                        : hdf5::flat_range_boxes(all, begin, end)});
    }
    return needs;
  }
  std::string error_of_loading(const LoaderOptions& options) const {
    const std::string error = error_of([&] { load(all_of_it(), options); });
    EXPECT_NE(error, "") << "rank " << world_rank();
    return error;
  }
  // Flips a bit in the first bytes of a chunk.
  void damage(const std::string& name, std::int64_t number) const {
    const CheckpointReader reader(path_);
    const CheckpointBlocks blocks(reader, MPI_COMM_WORLD);
    const FileRange range = blocks.ranges(blocks.first_of(blocks.find(name)) + number).front();
    if (world_rank() == 0) flip_bit(blocks.files()[range.file], range.offset + 3, 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  SharedDirectory dir_;
  std::string path_ = checkpoint_path(dir_.path(), 50);
};

TEST_P(LoaderRanks, EveryByteLeavesTheDiskOnceWhoeverNeedsIt) {
  for (const int node : node_choices())
    for (const std::int64_t window : {std::int64_t{1}, loading_bytes_at_once / 2}) {
      SCOPED_TRACE(fmt::format("node {} of rank {}, window {}", node, world_rank(), window));
      const LoaderOptions options{.window_bytes = window, .node = node};
      // Nodes of two ranks have more memory than a node of one rank, so they run ahead of it.
      const bool alike = world_size() % 2 == 0 || world_size() == 1 || node != world_rank() / 2;
      if (alike)
        EXPECT_EQ(load(all_of_it(), options), all_bytes());
      else
        EXPECT_GE(load(all_of_it(), options), all_bytes());
      EXPECT_GE(load(part(false), options), all_bytes());
      EXPECT_GE(load(part(true), options), all_bytes());
    }
  // Everything fits one window: a chunk that two ranks need at different times is read once.
  EXPECT_EQ(load(part(true), {}), all_bytes());
}

// The cut of a fused query-key-value matrix: ranks need chunks again, and share some.
TEST_P(LoaderRanks, RanksMayReadATensorInSeveralRuns) {
  constexpr std::int64_t parts = 3;
  const std::int64_t rows = shape[0] / parts;
  std::vector<hdf5::Box> boxes;
  for (std::int64_t part = 0; part < parts; ++part)
    boxes.push_back({{part * rows + rows * world_rank() / world_size(), 0},
                     {rows * (world_rank() + 1) / world_size() - rows * world_rank() / world_size(),
                      shape[1]}});
  Needs needs;
  for (const CheckpointTensor& tensor : tensors)
    if (tensor.shape.rank() == 2)
      for (const hdf5::Box& box : boxes) needs.push_back({tensor.name, {box}});
  for (const int node : node_choices())
    for (const std::int64_t window : {std::int64_t{1}, loading_bytes_at_once / 2})
      EXPECT_GE(load(needs, {.window_bytes = window, .node = node}), parts * rows * shape[1] * 4);
}

// A chunk may be in two consecutive rounds: the first ends where an offer ends.
TEST_P(LoaderRanks, RoundsEndWhereOffersDo) {
  Needs needs;
  for (int i = 0; i < 130; ++i) {
    needs.push_back({"/model/b", {{{0}, {11}}}});
    needs.push_back({"/model/w", {{{0, 0}, {1, 7}}}});
  }
  needs.push_back({"/model/w", {{{shape[0] - 1, 5}, {1, 7}}}});
  for (const int node : node_choices()) EXPECT_GT(load(needs, {.node = node}), 0);
}

TEST_P(LoaderRanks, RanksMayNeedLittleOrNothing) {
  for (const int node : node_choices()) {
    Needs needs;
    if (world_rank() == world_size() - 1) needs = all_of_it();
    if (world_rank() == 0) needs.push_back({"/model/w", {{{shape[0] - 1, 5}, {1, 7}}}});
    EXPECT_GE(load(needs, {.node = node}), all_bytes());
    EXPECT_EQ(load({}, {.node = node}), 0);
  }
}

TEST_P(LoaderRanks, ADamagedBlockIsAnErrorOnAll) {
  damage("/model/w", 5);
  for (const int node : node_choices())
    EXPECT_THAT(error_of_loading({.window_bytes = 1, .node = node}),
                AllOf(HasSubstr(path_ + " is damaged"), HasSubstr("/model/w block 5, bytes")));
}

// Whichever rank reads the chunk.
TEST_P(LoaderRanks, DamageOfAnyRanksBlockIsAnErrorOnAll) {
  for (std::int64_t number = 0; number < 4; ++number) {
    damage("/optimizer/exp_avg/w", number);
    EXPECT_THAT(error_of([&] { load(part(false), {}); }),
                HasSubstr(fmt::format("/optimizer/exp_avg/w block {}", number)))
        << "rank " << world_rank();
    damage("/optimizer/exp_avg/w", number);  // undoes the damage
  }
}

// The last chunk is read by one rank; the others must throw too.
TEST_P(LoaderRanks, ADiskThatFailsUnderOneRankIsAnErrorOnAll) {
  for (const int node : node_choices()) {
    const CheckpointReader reader(path_);
    CheckpointLoader loader(reader, MPI_COMM_WORLD, {.node = node});
    const CheckpointBlocks blocks(reader, MPI_COMM_WORLD);
    const FileRange last = blocks.ranges(blocks.first_of(blocks.find("/model/w")) + 7).front();
    const std::string& file = blocks.files()[last.file];
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0)
      std::filesystem::resize_file(file, static_cast<std::uintmax_t>(last.offset + 100));
    MPI_Barrier(MPI_COMM_WORLD);
    loader.want("/model/w", {{{}, shape}});
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    EXPECT_THAT(error_of([&] {
                  loader.read("/model/w", {{{}, shape}}, Tensor(values.data(), shape));
                }),
                AllOf(HasSubstr("cannot read " + file), HasSubstr("ends there")));
    if (world_rank() == 0) {
      std::filesystem::remove_all(path_ + ".parts");
      write();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_P(LoaderRanks, OneThatMayOpenNoMoreFilesIsAnErrorOnAllWithItsReason) {
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_WORLD);
  loader.want("/model/w", {{{}, shape}});
  std::vector<float> values(static_cast<std::size_t>(shape.elements()));
  std::string error;
  const auto body = [&] {
    error = error_of([&] {
      loader.read("/model/w", {{{}, shape}}, Tensor(values.data(), shape));
      loader.finish();
    });
  };
  if (world_rank() == world_size() - 1)
    with_refused(SYS_openat, {}, EMFILE, body);
  else
    body();
  EXPECT_THAT(error, AllOf(HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
}

// Each rank then reads its chunks itself, and unshared() gives the reason.
TEST_P(LoaderRanks, RanksThatCannotShareMemoryLoadTheSame) {
  const int last = world_size() - 1;
  const auto body = [&] {
    EXPECT_GE(load(all_of_it(), {}), all_bytes());
    EXPECT_GE(load(part(true), {}), all_bytes());
    const CheckpointReader reader(path_);
    CheckpointLoader loader(reader, MPI_COMM_WORLD);
    loader.want("/model/w", {{{}, shape}});
    std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    loader.read("/model/w", {{{}, shape}}, Tensor(values.data(), shape));
    loader.finish();
    EXPECT_EQ(loader.unshared(),
              world_size() == 1 ? "" : fmt::format("rank {}: {}", last, std::strerror(EACCES)));
  };
  if (world_rank() == last)
    with_refused(SYS_openat, {.number = 2, .has = O_RDWR}, EACCES, body);
  else
    body();
}

TEST_P(LoaderRanks, OneThatGivesUpIsAnErrorOnAll) {
  const CheckpointReader reader(path_);
  CheckpointLoader loader(reader, MPI_COMM_WORLD);
  loader.want("/model/w", {{{}, shape}});
  const bool last = world_rank() == world_size() - 1;
  EXPECT_THAT(error_of([&] {
                std::vector<float> values(static_cast<std::size_t>(shape.elements()));
                if (last)
                  loader.fail("its own disk is full");
                else
                  loader.read("/model/w", {{{}, shape}}, Tensor(values.data(), shape));
                loader.finish();
              }),
              HasSubstr("its own disk is full"));
  EXPECT_TRUE(loader.failed());
}

INSTANTIATE_TEST_SUITE_P(Files, LoaderRanks, testing::Values(1, 3));

}  // namespace
}  // namespace triax
