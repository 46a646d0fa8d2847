// SPDX-License-Identifier: Apache-2.0
// Tests of the emulator: other tests trust the kernels that it accepts.
#include "tests/support/emulator/emulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/cuda/launch/warp_matrix.hpp"
#include "kernels/cuda/norm/row_sum.hpp"

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

// Each thread reads what another wrote before the barrier.
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

// A copy to shared memory, read before and after the wait.
struct CopyLater {
  static constexpr int max_threads = 32;
  const float* from;
  std::vector<float>* out;

  void operator()(const Block& block) const {
    auto* shared = block.shared<float>();
    const int thread = block.thread_x();
    begin_copy<16>(block, shared + 4 * thread, from + 4 * thread, thread != 7);
    out->at(static_cast<std::size_t>(thread)) = shared[4 * thread];
    finish_copies(block);
    block.sync();
    out->at(static_cast<std::size_t>(32 + thread)) = shared[4 * (31 - thread)];
  }
};

TEST(Emulator, ACopyIsThereOnceItWasWaitedFor) {
  const Buffer memory(128 * sizeof(float));
  auto* from = static_cast<float*>(memory.data());
  for (int i = 0; i < 128; ++i) from[i] = static_cast<float>(i);
  std::vector<float> out(64);
  launch(Stream(), {.blocks_x = 1, .threads_x = 32, .shared_bytes = 512}, CopyLater{from, &out});
  EXPECT_TRUE(std::isnan(out[3])) << "a wait that is missing must show";
  EXPECT_EQ(out[32 + 3], 4 * 28.0F);
  EXPECT_EQ(out[32 + 24], 0.0F) << "what is not present is zero";
}

// One tensor-core product of a warp, with every element where the PTX manual puts it.
template <class T>
struct OneProduct {
  static constexpr int max_threads = 32;
  const float* a;  // (16, 16)
  const float* b;  // (16, 8)
  float* d;        // (16, 8)

  void operator()(const Block& block) const {
    const int g = block.thread_x() / 4, t = block.thread_x() % 4;
    Word left[4], right[2];
    for (int i = 0; i < 4; ++i) {
      const float* pair = a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
      left[i] = pack_pair<T>(pair[0], pair[1]);
    }
    for (int i = 0; i < 2; ++i) {
      const float* pair = b + (2 * t + i * 8) * 8 + g;
      right[i] = pack_pair<T>(pair[0], pair[8]);
    }
    float sums[4] = {1.0F, 1.0F, 1.0F, 1.0F};
    multiply_add<T>(block, sums, left, right[0], right[1]);
    for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = sums[i];
  }
};

TEST(WarpMatrix, AProductOfAWarp) {
  std::vector<float> a(256), b(128), d(128);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3.0F;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 1.0F;
  launch(Stream(), {.blocks_x = 1}, OneProduct<Bf16>{a.data(), b.data(), d.data()});
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t column = 0; column < 8; ++column) {
      float expected = 1.0F;
      for (std::size_t k = 0; k < 16; ++k) expected += a[row * 16 + k] * b[k * 8 + column];
      EXPECT_EQ(d[row * 8 + column], expected) << row << ", " << column;
    }
}

// Loads four 8 x 8 matrices; element (i, j) of matrix m is 64 m + 8 i + j.
struct LoadMatrices {
  static constexpr int max_threads = 32;
  std::vector<Word>* plain;
  std::vector<Word>* transposed;

  void operator()(const Block& block) const {
    auto* shared = block.shared<std::uint16_t>();
    const int thread = block.thread_x();
    for (int i = 0; i < 8; ++i) shared[8 * thread + i] = static_cast<std::uint16_t>(8 * thread + i);
    block.sync();
    Word words[4];
    load_matrices(block, words, shared + 8 * thread);
    std::copy_n(words, 4, plain->begin() + 4 * thread);
    load_transposed(block, words, shared + 8 * thread);
    std::copy_n(words, 4, transposed->begin() + 4 * thread);
  }
};

TEST(WarpMatrix, MatricesFromSharedMemory) {
  std::vector<Word> plain(128), transposed(128);
  launch(Stream(), {.blocks_x = 1, .shared_bytes = 512}, LoadMatrices{&plain, &transposed});
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t m = 0; m < 4; ++m) {
      const std::size_t g = lane / 4, t = lane % 4;
      const auto pair = [&](std::size_t i, std::size_t j, std::size_t next) {
        const std::size_t first = 64 * m + 8 * i + j;
        return static_cast<Word>(first | (first + next) << 16U);
      };
      EXPECT_EQ(plain[4 * lane + m], pair(g, 2 * t, 1));
      EXPECT_EQ(transposed[4 * lane + m], pair(2 * t, g, 8));
    }
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
