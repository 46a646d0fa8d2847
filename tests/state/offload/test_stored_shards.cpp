// SPDX-License-Identifier: Apache-2.0
// Shards of a device in host memory and on a disk, on the emulated device or a GPU.
#include "src/state/offload/stored_shards.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "kernels/random/random.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

class StoredShardsTest : public testing::Test {
 protected:
  static constexpr std::int64_t count = 5000;
  static constexpr int blocks = 3;  // the second one stays in compute memory

  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
    stream_ = Stream(MemorySpace::device);
  }
  void make(bool in_host) {
    std::vector<ParameterBlock> layout(blocks);
    for (int b = 0; b < blocks; ++b) {
      ParameterBlock& block = layout[static_cast<std::size_t>(b)];
      block.parameters = {0, count};
      block.home = b == 1    ? ParameterHome::sharded
                   : in_host ? ParameterHome::host
                             : ParameterHome::disk;
    }
    StateOptions options;
    options.space = MemorySpace::device;
    if (!in_host) options.location.path = directory_.path("shards.h5");
    const WholeBuffers whole{.pool = {0, 0, 0}, .shards = {1}};
    shards_ = std::make_unique<StoredShards>(layout, options, whole, wait_alone);
    EXPECT_EQ(shards_->bytes(), shard_bytes(layout, options, whole));
    EXPECT_EQ(shards_->bytes().hosted, in_host ? 2 * count * 4 : 0);
    EXPECT_EQ(shards_->bytes().buffers > 0, !in_host);
  }
  void put(int block, float value) {
    shards_->of(block).visit(stream_, Access::replace, [&](const Tensor& shard) {
      EXPECT_EQ(shard.as<float>()[count - 1], 0.0F);
      fill_constant(Stream(), shard, value);
    });
  }
  bool has(int block, float value) {
    bool all = false;
    shards_->of(block).visit(stream_, Access::read, [&](const Tensor& shard) {
      EXPECT_EQ(shard.elements(), count);
      all = std::all_of(shard.as<float>(), shard.as<float>() + count,
                        [&](float found) { return found == value; });
    });
    return all;
  }
  Tensor loaded(int block) {
    shards_->of(block).start_load();
    shards_->progress();
    const Tensor there = shards_->of(block).wait_load(stream_);
    EXPECT_EQ(there.space(), MemorySpace::device);
    return there;
  }

  const TempDirectory directory_;
  Stream stream_;
  std::unique_ptr<StoredShards> shards_;
};

// The error may appear in progress() before anybody waits for the shard.
TEST_F(StoredShardsTest, AReadThatFailsIsAnErrorAtTheLatestWhereItIsWaitedFor) {
  make(false);
  put(0, 2.0F);
  std::filesystem::resize_file(directory_.path("shards.h5"), 4096);
  shards_->of(0).start_load();
  EXPECT_THROW(
      {
        for (int look = 0; look < 100; ++look) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          shards_->progress();
        }
        shards_->of(0).wait_load(stream_);
      },
      Error);
}

TEST_F(StoredShardsTest, ComeAndGoThroughOneBuffer) {
  for (const bool in_host : {true, false}) {
    SCOPED_TRACE(in_host);
    make(in_host);
    put(0, 2.0F);
    put(2, 3.0F);
    const Buffer back = Buffer::pinned(count * sizeof(float));
    const Tensor seen = back.tensor(DType::f32, {count});
    copy(stream_, seen, loaded(0));  // runs late, and before the buffer gets its next shard
    shards_->of(0).unload(stream_);
    fill_constant(stream_, loaded(2), 7.0F);
    shards_->of(2).start_save(stream_, false);
    shards_->progress();
    shards_->of(2).wait_save();
    fill_constant(stream_, loaded(0), 8.0F);  // not saved
    shards_->of(0).unload(stream_);
    EXPECT_TRUE(has(2, 7.0F));
    EXPECT_TRUE(has(0, 2.0F));
    stream_.synchronize();
    EXPECT_EQ(seen.as<float>()[0], 2.0F);
    EXPECT_EQ(seen.as<float>()[count - 1], 2.0F);
    shards_.reset();
  }
}

TEST_F(StoredShardsTest, AreSteppedByTheHostWhereItHasThem) {
  make(true);
  put(0, 2.0F);
  loaded(0);
  shards_->of(0).unload(stream_);
  fill_constant(Stream(), shards_->of(0).on_host(), 4.0F);
  EXPECT_TRUE(has(0, 4.0F));
  make(false);
  put(0, 2.0F);
  loaded(0);
  fill_constant(Stream(), shards_->of(0).on_host(), 4.0F);
  shards_->of(0).start_save(stream_, true);
  shards_->of(0).wait_save();
  EXPECT_TRUE(has(0, 4.0F));
}

// A copy under way at the end of the run must write nowhere.
TEST_F(StoredShardsTest, MayEndAmidACopy) {
  make(true);
  put(0, 2.0F);
  fill_constant(stream_, loaded(0), 4.0F);
  Event filled;
  filled.record(stream_);
  shards_->of(0).start_save(stream_, false);
  shards_.reset();
  EXPECT_TRUE(filled.done()) << "the copy reads what was filled, so it has not ended either";
  stream_.synchronize();
}

}  // namespace
}  // namespace triax::test
