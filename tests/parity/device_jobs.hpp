// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs that train on a device, and the fixture for tests that need one.
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

/// A layout of all ranks that mixes the axes of the grid.
inline Layout mixed_layout() {
  if (world_size() == 1) return {.micro = 4};
  if (world_size() == 2) return {.data = 2, .micro = 4, .zero = 1};
  return {.tensor = 2, .data = 2, .micro = 4, .zero = 1};
}

/// Fixture of tests on the emulated device or a GPU; skipped if there is neither.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
  }
};

}  // namespace triax::test
