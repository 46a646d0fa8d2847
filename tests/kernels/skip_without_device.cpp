// Where a device is wanted and there is none, every test of the program is skipped, and says so.
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
