#pragma once
// Jobs whose tensors are a device's, and tests that need one.
#include <gtest/gtest.h>

#include "tests/support/training.hpp"

namespace triax::test {

inline nlohmann::json on_device(nlohmann::json job) {
  job["run"]["device"] = "gpu";
  return job;
}
inline nlohmann::json on_host(nlohmann::json job) {
  job["run"]["device"] = "cpu";
  return job;
}

/// Of the last ranks: what they share of a grid with every axis.
inline Layout mixed_layout() {
  if (world_size() == 1) return {.micro = 4};
  if (world_size() == 2) return {.data = 2, .micro = 4, .zero = 1};
  return {.tensor = 2, .data = 2, .micro = 4, .zero = 1};
}

/// The emulated device, or a GPU.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

}  // namespace triax::test
