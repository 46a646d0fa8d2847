// Where a device is wanted and there is none, no test of the program runs, and it says so.
#include <gtest/gtest.h>

#include "tests/kernels/run.hpp"

namespace triax::test {
namespace {

class DeviceEnvironment : public testing::Environment {
  void SetUp() override {
    if (space() == MemorySpace::device && device_count() == 0)
      GTEST_SKIP() << "skipped: no CUDA device";
  }
};

[[maybe_unused]] const testing::Environment* const registered =
    testing::AddGlobalTestEnvironment(new DeviceEnvironment);

}  // namespace
}  // namespace triax::test
