// SPDX-License-Identifier: Apache-2.0
// An update on the host for parameters of a device gives the numbers of adamw(), on the emulated
// device or a GPU.
#include "src/state/optimizer/host_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/activation/elementwise.hpp"
#include "kernels/optimizer/adamw.hpp"

namespace triax {
namespace {

// More than two portions, with a short last one.
constexpr std::int64_t n = 2 * staged_elements + 1234;

std::vector<float> wave(double step) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    values[static_cast<std::size_t>(i)] =
        static_cast<float>(std::sin(step * static_cast<double>(i)));
  return values;
}

Tensor view(std::vector<float>& values) {
  return Tensor(values.data(), {n});
}

class HostStepTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

TEST_P(HostStepTest, StepsAsAdamwDoes) {
  const DType type = GetParam();
  const bool master = type != DType::f32;
  const Stream host, stream(MemorySpace::device);
  std::vector<float> parameter = wave(0.1), gradient = wave(0.3), m = wave(0.01), v = wave(0.0);
  // Expected values, computed on the host.
  Buffer weights(static_cast<std::size_t>(n) * size_of(type)),
      gradients(static_cast<std::size_t>(n) * size_of(type));
  const Tensor w = weights.tensor(type, {n}), g = gradients.tensor(type, {n});
  convert(host, w, view(parameter));
  convert(host, g, view(gradient));
  const Buffer there(2 * weights.bytes(), MemorySpace::device);
  const Tensor both = there.tensor(type, {2 * n});
  const Tensor w_there = both.slice(0, 0, n), g_there = both.slice(0, n, n);
  copy(stream, w_there, w);
  copy(stream, g_there, g);
  stream.synchronize();  // w is stepped next
  std::vector<float> master_there = parameter, m_there = m, v_there = v;
  const AdamWOptions options{.learning_rate = 0.01, .weight_decay = 0.1};
  float factor = 0.5F;
  const Tensor clip(&factor, {1});
  adamw(host, master ? view(parameter) : w, master ? w : Tensor{}, g, clip, view(m), view(v),
        options);

  int waits = 0;
  HostStep step(type, type, [&](const Event& event) {
    ++waits;
    event.synchronize();
  });
  step.run(stream,
           {master ? view(master_there) : w_there,
            master ? w_there : Tensor{},
            g_there,
            clip,
            {view(m_there), view(v_there)}},
           [&](const UpdateTensors& of, std::int64_t) {
             adamw(host, of.parameter, of.weights, of.gradient, of.factor, of.states[0],
                   of.states[1], options);
           });
  EXPECT_EQ(waits, 6) << "for the gradients of each portion, and for its place";
  EXPECT_EQ(m_there, m);
  EXPECT_EQ(v_there, v);
  if (master) {
    EXPECT_EQ(master_there, parameter);
  }
  const Buffer back(weights.bytes());
  copy(stream, back.tensor(type, {n}), w_there);
  stream.synchronize();
  EXPECT_EQ(std::memcmp(back.data(), weights.data(), weights.bytes()), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, HostStepTest, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace triax
