// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/offload_room.hpp"

#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OffloadRoom : public testing::Test {
 protected:
  OffloadRoom() {
    config_ = golden_config({.data = 2, .micro = 1, .zero = 3});
    config_.zero.persistence_threshold = 0;
    config_.zero.offload_optimizer = {.device = OffloadDevice::nvme,
                                      .nvme_path = directory_.path("")};
    config_.zero.offload_param = {
        .device = OffloadDevice::nvme, .nvme_path = directory_.path(""), .max_in_cpu = 0};
  }
  // Error text for the files of `ranks` with `free` bytes free; "" if they fit.
  std::string refusal(const std::vector<int>& ranks, double free) const {
    const MemoryPlan plan(config_, step_plans(config_), 0);
    return error_of([&] { check_offload_room(config_, plan, ranks, [&](auto&) { return free; }); });
  }
  double bytes_of_a_rank() const {
    return static_cast<double>(MemoryPlan(config_, step_plans(config_), 0).of(0).nvme.total());
  }
  TempDirectory directory_;
  PlacedConfig config_;
};

TEST_F(OffloadRoom, IsWhatAllRanksOfAMachineKeepOnAFileSystem) {
  constexpr double file = 1 << 20;  // HDF5's metadata; two files per rank
  const double rank = bytes_of_a_rank() + 2 * file;
  EXPECT_EQ(refusal({0}, rank), "");
  EXPECT_THAT(refusal({0, 1}, 2 * rank - 1),
              AllOf(HasSubstr("2 rank(s) of this machine need"), HasSubstr(directory_.path("")),
                    HasSubstr(fmt::format("({:.0f} bytes) are free", 2 * rank - 1)),
                    HasSubstr("zero_optimization.offload_optimizer.nvme_path"),
                    HasSubstr("zero_optimization.offload_param.ratio")));
  EXPECT_EQ(refusal({0, 1}, 2 * rank), "");
}

TEST_F(OffloadRoom, CountsEachFileSystemByItself) {
  config_.zero.offload_param.nvme_path = "/proc";  // another file system
  const double rank = bytes_of_a_rank() + (1 << 20);
  EXPECT_EQ(refusal({0}, rank), "");
  EXPECT_THAT(refusal({0}, 1000.0),
              AllOf(HasSubstr("offload_optimizer"), Not(HasSubstr("offload_param"))));
  config_.zero.offload_param.nvme_path = directory_.path("nowhere");
  EXPECT_EQ(refusal({0}, rank), "");
}

TEST_F(OffloadRoom, OfADirectoryIsThatOfItsDisk) {
  EXPECT_GT(free_bytes(directory_.path("")), 1e6);
}

}  // namespace
}  // namespace triax::test
