// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/checkpoint_block_reader.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/base/device/device.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

// Several chunks that end within pages, so that neighbours share a page.
const std::vector<CheckpointTensor> tensors = {{"/model/a", DType::f32, {2'500'001}},
                                               {"/model/b", DType::f32, {11}},
                                               {"/model/c", DType::f32, {1'200'000}}};

std::vector<float> values_of(std::size_t tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensors[tensor].shape.elements()));
  std::iota(values.begin(), values.end(), static_cast<float>(tensor));
  return values;
}

class BlockReader : public testing::Test {
 protected:
  BlockReader() {
    std::vector<std::vector<float>> values;
    for (std::size_t t = 0; t < tensors.size(); ++t) values.push_back(values_of(t));
    write_example(path_, tensors, values);
  }

  // Starts all chunks in one call, into memory that the test checks.
  void start(const CheckpointBlocks& blocks, CheckpointBlockReader& disk) {
    const TensorPieces pieces(blocks.tensors(), blocks.elements(), MPI_COMM_NULL);
    std::vector<std::int64_t> all(static_cast<std::size_t>(pieces.count()));
    std::iota(all.begin(), all.end(), 0);
    std::int64_t bytes = 0;
    for (const std::int64_t block : all) bytes += blocks.footprint(block);
    memory_ = Buffer(static_cast<std::size_t>(bytes));
    readings_ = disk.start(all, static_cast<std::byte*>(memory_.data()));
    ASSERT_GE(readings_.size(), 6U);
  }
  static void expect_values(const CheckpointBlocks& blocks, std::int64_t block,
                            const Tensor& data) {
    const TensorPiece piece = blocks.at(block);
    const std::vector<float> values = values_of(piece.tensor);
    ASSERT_EQ(data.elements(), piece.end - piece.begin);
    EXPECT_TRUE(std::equal(data.as<float>(), data.as<float>() + data.elements(),
                           values.begin() + piece.begin))
        << blocks.text(block);
    EXPECT_TRUE(blocks.matches(block, data));
  }
  std::size_t meeting() const {
    std::size_t count = 0;
    for (const BlockReading& one : readings_)
      count += std::ranges::count(readings_, one.run, &BlockReading::run) > 1 ? 1 : 0;
    return count;
  }

  // While `body` runs, the checkpoint's file opens with O_DIRECT, but every such read is refused.
  static void with_reads_refused(const std::function<void()>& body) {
    with_refused(SYS_io_uring_setup, {}, ENOSYS, [&] {
      const int next = ::open("/dev/null", O_RDONLY);  // descriptor of the next opened file
      ::close(next);
      with_refused(SYS_pread64, {.number = 0, .equals = static_cast<std::uint32_t>(next)}, EINVAL,
                   [&] {
                     body();
                     char byte = 0;
                     EXPECT_EQ(::pread(next, &byte, 1, 0), -1);
                   });
    });
  }

  TempDirectory dir_;
  std::string path_ = checkpoint_path(dir_.path(), 50);
  Buffer memory_;
  std::vector<BlockReading> readings_;
};

TEST_F(BlockReader, ReadsWhatAdjoinsAtOnce) {
  const CheckpointReader reader(path_);
  const CheckpointBlocks blocks(reader, MPI_COMM_NULL);
  CheckpointBlockReader disk(blocks, reader);
  start(blocks, disk);
  EXPECT_GE(meeting(), 4U);
  for (BlockReading& reading : readings_)
    expect_values(blocks, reading.block, disk.finish(reading));
}

TEST_F(BlockReader, WhereReadsPastThePageCacheAreRefusedThePageCacheDoes) {
  const CheckpointReader reader(path_);
  const CheckpointBlocks blocks(reader, MPI_COMM_NULL);
  with_reads_refused([&] {
    CheckpointBlockReader disk(blocks, reader);
    start(blocks, disk);
    EXPECT_GE(meeting(), 4U);
    for (BlockReading& reading : readings_) disk.wait(reading);
    for (const BlockReading& reading : readings_) EXPECT_TRUE(reading.run->refused);
    // A finished chunk may be on its way to another rank when the next one is finished: it must not
    // change.
    std::vector<std::vector<std::byte>> handed_out;
    for (BlockReading& reading : readings_) {
      expect_values(blocks, reading.block, disk.finish(reading));
      handed_out.emplace_back(reading.memory, reading.memory + blocks.footprint(reading.block));
    }
    for (std::size_t i = 0; i < readings_.size(); ++i)
      EXPECT_TRUE(
          std::ranges::equal(handed_out[i], std::span(readings_[i].memory, handed_out[i].size())))
          << "block " << i << " was written to again";
  });
}

TEST_F(BlockReader, AFileThatEndsIsAnErrorBothWays) {
  const CheckpointReader reader(path_);
  const CheckpointBlocks blocks(reader, MPI_COMM_NULL);
  const FileRange last = blocks.ranges(blocks.first_of(blocks.find("/model/c")) + 1).front();
  std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(last.offset + 8));
  const auto errors = [&] {
    CheckpointBlockReader disk(blocks, reader);
    start(blocks, disk);
    std::vector<std::string> found;
    for (BlockReading& reading : readings_)
      found.push_back(error_of([&] { disk.finish(reading); }));
    return found;
  };
  const auto ends = AllOf(HasSubstr("cannot read " + path_), HasSubstr("the file ends there"));
  EXPECT_THAT(errors(), testing::Contains(ends));
  with_reads_refused([&] { EXPECT_THAT(errors(), testing::Contains(ends)); });
}

}  // namespace
}  // namespace triax
