// SPDX-License-Identifier: Apache-2.0
// Skips every test of the program if a device is asked for and there is none.
#include <gtest/gtest.h>

#include "tests/kernels/run.hpp"

namespace triax::test {
namespace {

class SkipWithoutDevice : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    if (space() == MemorySpace::device && device_count() == 0)
      GTEST_SKIP() << "skipped: no CUDA device";
  }
};

[[maybe_unused]] const bool registered = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new SkipWithoutDevice);
  return true;
}();

}  // namespace
}  // namespace triax::test
