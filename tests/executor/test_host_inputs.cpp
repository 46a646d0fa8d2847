// SPDX-License-Identifier: Apache-2.0
// Runs on the emulated device or a GPU.
#include "src/executor/host_inputs.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/random/random.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t elements = 3000;
constexpr std::size_t bytes = elements * sizeof(float);

// Several inputs pass through one device buffer and two host buffers.
TEST(HostInputs, ComeBackAsTheyLeft) {
  if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
  const Stream stream(MemorySpace::device);
  const Buffer there(bytes, MemorySpace::device);
  const Tensor floats = there.tensor(DType::f32, {elements});
  const Tensor input = there.tensor(DType::u8, {static_cast<std::int64_t>(bytes)});
  HostInputs inputs(bytes, 2, 5, MemorySpace::device);
  EXPECT_EQ(inputs.bytes(), BufferPool::bytes_of(bytes, 2));
  const auto leave = [&](std::size_t place, float value) {
    fill_constant(stream, floats, value);
    inputs.start_offload(stream, place, input);
    inputs.wait_offload(stream, place);
  };
  std::vector<Buffer> seen;
  const auto come_back = [&](std::size_t place) {
    inputs.start_reload(stream, place, input);
    inputs.wait_reload(stream, place);
    seen.push_back(Buffer::pinned(bytes));
    copy(stream, seen.back().tensor(DType::f32, {elements}), floats);
  };
  leave(0, 1.0F);
  leave(4, 2.0F);
  come_back(4);
  leave(3, 3.0F);
  come_back(0);
  come_back(3);
  stream.synchronize();
  const std::vector<float> expected = {2.0F, 1.0F, 3.0F};
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (const std::int64_t at : {std::int64_t{0}, elements - 1})
      EXPECT_EQ(seen[i].tensor(DType::f32, {elements}).as<float>()[at], expected[i]) << i;
}

}  // namespace
}  // namespace triax::test
