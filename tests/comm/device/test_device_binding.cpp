// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/device_binding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

TEST(DeviceBinding, GpusComputeWhereAllRanksHaveOne) {
  EXPECT_TRUE(compute_on_devices({}, {1, 8, 1}));
  EXPECT_FALSE(compute_on_devices({}, {0, 0, 0}));
  EXPECT_FALSE(compute_on_devices(MemorySpace::host, {1, 0, 1}));
  EXPECT_FALSE(compute_on_devices(MemorySpace::host, {1, 1, 1}));
  EXPECT_TRUE(compute_on_devices(MemorySpace::device, {1, 1, 1}));
}

std::string mistake(std::optional<MemorySpace> asked, const std::vector<int>& counts) {
  try {
    compute_on_devices(asked, counts);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceBinding, ARankWithoutTheGpuThatOthersHaveIsNamed) {
  EXPECT_THAT(mistake(MemorySpace::device, {1, 1, 0}), HasSubstr("rank 2 finds none"));
  EXPECT_THAT(mistake({}, {1, 0, 1}), HasSubstr("rank 1 finds no GPU, and other ranks do"));
}

// Choice for ranks that find the same GPUs in the same order; near[rank][GPU].
std::vector<int> chosen(const std::vector<std::vector<int>>& near) {
  std::vector<std::vector<FoundDevice>> found;
  for (const auto& of_rank : near) {
    found.emplace_back();
    for (std::size_t d = 0; d < of_rank.size(); ++d)
      found.back().push_back({static_cast<std::int64_t>(d), of_rank[d]});
  }
  return choose_devices(found);
}

// Two packages with two GPUs each; the ranks' packages are in another order than the GPUs.
TEST(DeviceBinding, RanksHaveTheGpusNearThem) {
  const std::vector<int> first = {1000, 1000, 0, 0}, second = {0, 0, 1000, 1000};
  EXPECT_EQ(chosen({first, first, second, second}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(chosen({second, second, first, first}), (std::vector<int>{2, 3, 0, 1}));
  EXPECT_EQ(chosen({first, second, first, second}), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(chosen({first, second}), (std::vector<int>{0, 2})) << "nobody has those";
}

TEST(DeviceBinding, RanksThatAreNearToNoneTakeTurns) {
  const std::vector<int> anywhere = {500, 500}, unknown = {0, 0};
  EXPECT_EQ(chosen({anywhere, anywhere, anywhere}), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(chosen({unknown, unknown}), (std::vector<int>{0, 1}));
  EXPECT_EQ(chosen({{0}, {0}}), (std::vector<int>{0, 0}));
}

// Equal numbers of ranks per GPU, though all are near the same one.
TEST(DeviceBinding, GpusAreSharedEqually) {
  const std::vector<int> first = {1000, 0}, second = {0, 1000}, anywhere = {500, 500};
  EXPECT_EQ(chosen({first, first, first, first}), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(chosen({anywhere, first, anywhere, second}), (std::vector<int>{1, 0, 0, 1}));
  EXPECT_EQ(chosen({second, second, first, first, second, first}),
            (std::vector<int>{1, 1, 0, 0, 1, 0}));
}

// After srun --gpu-bind=closest and CUDA_VISIBLE_DEVICES, equal numbers mean different GPUs.
TEST(DeviceBinding, RanksThatFindOtherGpusHaveOneEach) {
  using Found = std::vector<FoundDevice>;
  const Found first = {{.part = 70}, {.part = 71}}, second = {{.part = 72}, {.part = 73}};
  EXPECT_EQ(choose_devices({first, first, second, second}), (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(choose_devices({{{.part = 70}}, {{.part = 71}}}), (std::vector<int>{0, 0}));
  const Found turned = {{.part = 71}, {.part = 70}};
  EXPECT_EQ(choose_devices({first, turned}), (std::vector<int>{0, 0}));
  EXPECT_EQ(choose_devices({turned, first, second}), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(choose_devices({first, {{.part = 71}, {.part = 72}}, second}),
            (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(choose_devices({first, {{.part = 70}}}), (std::vector<int>{1, 0})) << "makes room";
}

// Two nodes with ranks 0 to 2 and 3 to 5: equal addresses on them are different GPUs.
TEST(DeviceBinding, GpusAreKnownByNodeAndPlace) {
  const std::vector<int> nodes = {0, 0, 0, 3, 3, 3};
  EXPECT_EQ(distinct_devices({7, 8, 7, 7, 8, 9}, nodes), 5);
  EXPECT_EQ(ranks_with_device(2, {7, 8, 7, 7, 8, 9}, nodes), (std::vector<int>{0, 2}));
  EXPECT_EQ(ranks_with_device(5, {7, 8, 7, 7, 8, 9}, nodes), (std::vector<int>{5}));
  // PCI domains of virtual machines have 32 bits; these addresses differ above that.
  constexpr std::int64_t place = 7, domain = std::int64_t{1} << 40;
  EXPECT_EQ(distinct_devices({place, place + domain}, {0, 0}), 2);
  EXPECT_EQ(ranks_with_device(0, {place, place + domain}, {0, 0}), (std::vector<int>{0}));
}

TEST(DeviceBinding, TheLineAtTheStartSaysWhoShares) {
  EXPECT_EQ(devices_text(8, 8, "H200"), "8 GPUs (H200), one per rank");
  EXPECT_EQ(devices_text(4, 1, "H200"), "4 ranks share 1 GPU (H200)");
}

}  // namespace
}  // namespace triax
