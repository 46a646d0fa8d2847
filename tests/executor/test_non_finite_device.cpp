// SPDX-License-Identifier: Apache-2.0
// Runs on the emulated device, which executes its work when it is waited for.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/random/random.hpp"
#include "src/executor/non_finite.hpp"
#include "tests/support/emulator/emulated_device.hpp"

namespace triax {
namespace {

class FiniteOnDevice : public testing::Test {
 protected:
  bool finite_with(float value) {
    fill_constant(stream_, values_, value);
    return finite_(stream_, values_);
  }
  ProcessGrid grid_{MPI_COMM_WORLD, {}, {}, 0.0, MemorySpace::device};
  Stream stream_{MemorySpace::device};
  FiniteTest finite_{MemorySpace::device, grid_};
  Buffer memory_{3000 * sizeof(float), MemorySpace::device};
  Tensor values_ = memory_.tensor(DType::f32, {3000});
};

TEST_F(FiniteOnDevice, EachTestIsOfItsValuesAlone) {
  EXPECT_TRUE(finite_with(1.0F));
  EXPECT_FALSE(finite_with(INFINITY));
  EXPECT_TRUE(finite_with(2.0F));
  float here = NAN;
  EXPECT_FALSE(finite_(stream_, Tensor(&here, {1}))) << "offloaded";
  EXPECT_TRUE(finite_(stream_, Tensor{}));
}

// A message under way may never end, so the wait is recorded for the watchdog. Allocating or
// releasing memory would wait for the whole device unrecorded.
TEST_F(FiniteOnDevice, TheWaitIsSeenAndNothingAllocated) {
  finite_with(1.0F);  // the stream allocates its workspace, as in a run
  const std::int64_t free = device_facts().free_bytes;
  int asked = 0, seen = 0;
  cuda::emulator::enqueue_when(stream_.handle(),
                               [&] {
                                 EXPECT_EQ(device_facts().free_bytes, free);
                                 seen += static_cast<int>(grid_.board().waits() % 2);
                                 return ++asked == 10;
                               },
                               {});
  EXPECT_TRUE(finite_with(1.0F));
  EXPECT_EQ(seen, 9) << "all but the first, which asks whether to wait";
}

}  // namespace
}  // namespace triax
