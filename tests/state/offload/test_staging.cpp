// SPDX-License-Identifier: Apache-2.0
// Elements moved between files and device tensors.
#include "src/state/offload/staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/activation/elementwise.hpp"

namespace triax {
namespace {

class StagingTest : public testing::TestWithParam<MemorySpace> {
 protected:
  void SetUp() override {
    if (GetParam() == MemorySpace::device && device_count() == 0)
      GTEST_SKIP() << "skipped: no CUDA device";
  }
};

TEST_P(StagingTest, PutsFloatsRoundedToTheTensorsType) {
  const MemorySpace space = GetParam();
  const Stream stream(space);
  int waits = 0;
  Staging staging([&](const Event& event) {
    ++waits;
    event.synchronize();
  });
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const Buffer memory(100 * size_of(type), space);
    const Tensor to = memory.tensor(type, {100});
    const Tensor from = staging.take(space, DType::f32, 100);
    for (int i = 0; i < 100; ++i) from.as<float>()[i] = static_cast<float>(i);
    staging.put(stream, to, from);
    std::fill_n(from.as<float>(), 100, -1.0F);  // may change once put() has returned
    const Buffer back(memory.bytes());
    copy(stream, back.tensor(type, {100}), to);
    stream.synchronize();
    std::vector<float> seen(100);
    convert(Stream(), Tensor(seen.data(), {100}), back.tensor(type, {100}));
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(seen[static_cast<std::size_t>(i)], static_cast<float>(i)) << name_of(type);
  }
  EXPECT_EQ(waits, space == MemorySpace::device ? 3 : 0);
}

TEST_P(StagingTest, GrowsAndCountsWhatItComesToTake) {
  Staging staging;
  EXPECT_EQ(staging.take(GetParam(), DType::bf16, 7).elements(), 7);
  EXPECT_EQ(staging.take(GetParam(), DType::f32, 1000).bytes(), 4000);
  EXPECT_EQ(Staging::bytes_of(MemorySpace::host, DType::bf16, 1000), 4000);
  EXPECT_EQ(Staging::bytes_of(MemorySpace::device, DType::f32, 1000), 4000);
  EXPECT_EQ(Staging::bytes_of(MemorySpace::device, DType::bf16, 1000), 6000);
}

INSTANTIATE_TEST_SUITE_P(Spaces, StagingTest,
                         testing::Values(MemorySpace::host, MemorySpace::device),
                         [](const auto& info) {
                           return info.param == MemorySpace::host ? "host" : "device";
                         });

}  // namespace
}  // namespace triax
