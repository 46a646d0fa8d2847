#include "src/comm/device_binding.hpp"

#include <gtest/gtest.h>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

TEST(DeviceBinding, GpusComputeWhereAllRanksHaveOne) {
  EXPECT_TRUE(compute_on_devices({}, {1, 8, 1}));
  EXPECT_FALSE(compute_on_devices({}, {1, 0, 1}));
  EXPECT_FALSE(compute_on_devices(MemorySpace::host, {1, 1, 1}));
  EXPECT_TRUE(compute_on_devices(MemorySpace::device, {1, 1, 1}));
}

TEST(DeviceBinding, ARankWithoutTheGpuThatIsAskedForIsNamed) {
  try {
    compute_on_devices(MemorySpace::device, {1, 1, 0});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 2 finds none"), std::string::npos);
  }
}

TEST(DeviceBinding, RanksTakeTurnsOnTheGpusOfANode) {
  EXPECT_EQ(device_of(3, 8), 3);
  EXPECT_EQ(device_of(3, 2), 1);
  EXPECT_EQ(device_of(5, 1), 0);
}

// Two packages with two GPUs each; ranks bound to packages in another order than the GPUs come.
TEST(DeviceBinding, RanksHaveTheGpusNearThem) {
  const std::vector<int> first = {1000, 1000, 0, 0}, second = {0, 0, 1000, 1000};
  EXPECT_EQ(nearest_devices({first, first, second, second}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(nearest_devices({second, second, first, first}), (std::vector<int>{2, 3, 0, 1}));
  EXPECT_EQ(nearest_devices({first, second, first, second}), (std::vector<int>{0, 2, 1, 3}));
}

TEST(DeviceBinding, RanksThatAreNearToNoneTakeTurns) {
  const std::vector<int> anywhere = {500, 500}, unknown = {0, 0};
  EXPECT_EQ(nearest_devices({anywhere, anywhere, anywhere}), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(nearest_devices({unknown, unknown}), (std::vector<int>{0, 1}));
}

// As many on each, though all are near the same one.
TEST(DeviceBinding, GpusAreSharedEqually) {
  const std::vector<int> first = {1000, 0}, second = {0, 1000}, anywhere = {500, 500};
  EXPECT_EQ(nearest_devices({first, first, first, first}), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(nearest_devices({anywhere, first, anywhere, second}), (std::vector<int>{1, 0, 0, 1}));
  EXPECT_EQ(nearest_devices({second, second, first, first, second, first}),
            (std::vector<int>{1, 1, 0, 0, 1, 0}));
}

// Two nodes with ranks 0 to 2 and 3 to 5: the same places on both are other GPUs.
TEST(DeviceBinding, GpusAreKnownByNodeAndPlace) {
  const std::vector<int> nodes = {0, 0, 0, 3, 3, 3};
  EXPECT_EQ(distinct_devices({7, 8, 7, 7, 8, 9}, nodes), 5);
  EXPECT_EQ(ranks_with_device(2, {7, 8, 7, 7, 8, 9}, nodes), (std::vector<int>{0, 2}));
  EXPECT_EQ(ranks_with_device(5, {7, 8, 7, 7, 8, 9}, nodes), (std::vector<int>{5}));
  // PCI domains of virtual machines have 32 bits: addresses that differ above those.
  constexpr std::int64_t place = 7, domain = std::int64_t{1} << 40;
  EXPECT_EQ(distinct_devices({place, place + domain}, {0, 0}), 2);
  EXPECT_EQ(ranks_with_device(0, {place, place + domain}, {0, 0}), (std::vector<int>{0}));
}

TEST(DeviceBinding, TheLineAtTheStartSaysWhoShares) {
  EXPECT_EQ(devices_text(8, 8, "H200"), "8 GPUs (H200), one a rank");
  EXPECT_EQ(devices_text(4, 1, "H200"), "4 ranks share 1 GPU (H200)");
}

}  // namespace
}  // namespace triax
