// SPDX-License-Identifier: Apache-2.0
#include "src/price/layer_times.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

Machine machine() {
  Machine m;
  m.bf16_flops = 100e12;
  m.fp8_flops = 200e12;
  m.memory_bandwidth = 1e12;
  m.efficiency = {.products = 0.8,
                  .half_side = 100.0,
                  .attention = 0.5,
                  .memory = 1.0,
                  .network = 1.0,
                  .overlap = 1.0,
                  .kernel_seconds = 0.0};
  return m;
}

TEST(ProductEfficiency, IsHalfWhereOneSideIsHalfSide) {
  EXPECT_NEAR(product_efficiency({1e9, 1e9, 1e9}, machine()), 0.8, 1e-6);
  EXPECT_NEAR(product_efficiency({1e9, 1e9, 100}, machine()), 0.4, 1e-6);
}

TEST(LayerTimes, AddProductsAttentionAndBytes) {
  LayerWork work;
  work.products = {{8192, 8192, 8192}};
  const double product =
      work.products[0].flops() / (100e12 * product_efficiency(work.products[0], machine()));
  EXPECT_NEAR(layer_times(work, {DType::bf16}, machine()).forward, product, 1e-12);
  EXPECT_NEAR(layer_times(work, {DType::bf16, true}, machine()).forward, product / 2, 1e-12);
  work.attention_flops = 50e12;
  work.bytes = 1e12;
  const LayerTimes times = layer_times(work, {DType::bf16}, machine());
  EXPECT_NEAR(times.forward, product + 1.0 + 1.0, 1e-9);
  EXPECT_NEAR(times.backward, 2 * product + 2.5 + 2.0, 1e-9);
  EXPECT_DOUBLE_EQ(times.attention, 1.0);
}

// A product with one row reads its matrix once, which takes longer than its FLOPs.
TEST(LayerTimes, ThinProductsAreBoundByMemory) {
  LayerWork work;
  work.products = {{1, 10000, 10000}};
  Machine quick = machine();
  quick.efficiency.half_side = 1.0;
  EXPECT_NEAR(layer_times(work, {DType::bf16}, quick).forward, 2e8 / 1e12, 1e-7);
}

}  // namespace
}  // namespace triax
