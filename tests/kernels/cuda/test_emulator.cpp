// The emulator that other tests run the device's kernels by: what it lets pass must be sound.
#include "kernels/cuda/emulator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/cuda/row_sum.hpp"

namespace triax::cuda {
namespace {

const LaunchShape two_by_two = {
    .blocks_x = 3, .blocks_y = 2, .threads_x = 64, .threads_y = 2, .shared_bytes = 1024};

struct CountThreads {
  static constexpr int max_threads = 128;
  std::vector<int>* visits;

  void operator()(const Block& block) const {
    const auto at =
        (block.index_y() * 3 + block.index_x()) * 128 + block.thread_y() * 64 + block.thread_x();
    ++(*visits)[static_cast<std::size_t>(at)];
  }
};

TEST(Emulator, RunsEveryThreadOnce) {
  std::vector<int> visits(std::size_t{3} * 2 * 128);
  launch(Stream(), two_by_two, CountThreads{&visits});
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

// Each thread reads what the last one wrote before the barrier.
struct Reverse {
  static constexpr int max_threads = 128;
  std::vector<float>* out;
  bool waits;

  void operator()(const Block& block) const {
    auto* shared = block.shared<float>();
    const int thread = block.thread_y() * 64 + block.thread_x();
    shared[thread] = static_cast<float>(thread);
    if (waits) block.sync();
    (*out)[static_cast<std::size_t>(thread)] = shared[127 - thread];
  }
};

TEST(Emulator, SharedMemoryHoldsNothingBeforeABarrier) {
  std::vector<float> out(128);
  launch(Stream(), two_by_two, Reverse{&out, true});
  EXPECT_EQ(out.front(), 127.0F);
  EXPECT_EQ(out.back(), 0.0F);
  launch(Stream(), two_by_two, Reverse{&out, false});
  EXPECT_TRUE(std::isnan(out.front())) << "a barrier that is missing must show";
}

struct Uneven {
  static constexpr int max_threads = 128;
  void operator()(const Block& block) const {
    if (block.thread_x() != 5) block.sync();
    block.sync();
  }
};

TEST(Emulator, RefusesABarrierThatNotAllThreadsReach) {
  EXPECT_THROW(launch(Stream(), two_by_two, Uneven{}), Error);
}

struct RowSums {
  static constexpr int max_threads = 256;
  std::vector<double>* out;

  void operator()(const Block& block) const {
    double values[2] = {static_cast<double>(block.thread_x()),
                        static_cast<double>(block.thread_y())};
    row_sums<2>(block, block.shared<double>(), values);
    if (block.thread_x() == block.threads_x() - 1) {
      (*out)[static_cast<std::size_t>(2 * block.thread_y())] = values[0];
      (*out)[static_cast<std::size_t>(2 * block.thread_y() + 1)] = values[1];
    }
  }
};

TEST(RowSums, AddUpTheThreadsOfEachRow) {
  for (const auto& [across, down] : {std::pair{32, 4}, {64, 2}, {128, 2}, {256, 1}}) {
    std::vector<double> out(8);
    const LaunchShape shape = {
        .blocks_x = 1, .threads_x = across, .threads_y = down, .shared_bytes = 1024};
    launch(Stream(), shape, RowSums{&out});
    for (int y = 0; y < down; ++y) {
      EXPECT_EQ(out[static_cast<std::size_t>(2 * y)], across * (across - 1) / 2);
      EXPECT_EQ(out[static_cast<std::size_t>(2 * y + 1)], across * y);
    }
  }
}

TEST(Launch, RefusesWhatNoGpuTakes) {
  LaunchShape shape = two_by_two;
  shape.threads_y = 4;
  EXPECT_THROW(launch(Stream(), shape, Uneven{}), Error) << "more threads than compiled for";
  shape = two_by_two;
  shape.shared_bytes = 1 << 20;
  EXPECT_THROW(launch(Stream(), shape, Uneven{}), Error);
  shape = two_by_two;
  shape.blocks_x = 0;
  EXPECT_NO_THROW(launch(Stream(), shape, Uneven{})) << "no blocks, nothing to do";
}

}  // namespace
}  // namespace triax::cuda
