// SPDX-License-Identifier: Apache-2.0
// Plans of cuDNN for GPUs that are described but not present: cuDNN builds the graphs, chooses
// engines and compiles their kernels. That they compute attention is tested on a GPU (test_kernels
// in a build with TRIAX_CUDNN).
#include "kernels/cuda/cudnn/attention_plan.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <ostream>
namespace triax::cuda {
namespace {

struct Sizes {
  std::int64_t batch, length, heads, key_heads, head_size;
};

// Layout of the layers: queries, keys and values of a token side by side.
AttentionProblem problem_of(const Sizes& n, DType type, bool backward) {
  const std::int64_t row = (n.heads + 2 * n.key_heads) * n.head_size;
  const AttentionStrides fused = {n.length * row, n.head_size, row};
  const std::int64_t width = n.heads * n.head_size;
  const AttentionStrides packed = {n.length * width, n.head_size, width};
  AttentionProblem problem = {.backward = backward,
                              .type = type,
                              .batch = n.batch,
                              .length = n.length,
                              .heads = n.heads,
                              .key_heads = n.key_heads,
                              .head_size = n.head_size,
                              .q = fused,
                              .k = fused,
                              .v = fused,
                              .out = packed,
                              .lse = {n.heads * n.length, n.length, 1}};
  if (!backward) return problem;
  problem.dout = packed;
  problem.dq = problem.dk = problem.dv = fused;
  return problem;
}

struct Gpu {
  int architecture;
  std::string text;  // the device description in cuDNN's JSON
};
std::ostream& operator<<(std::ostream& to, const Gpu& gpu) {
  return to << "sm_" << gpu.architecture;
}

Gpu gpu_of(int architecture, int processors, std::int64_t cache) {
  return {architecture,
          fmt::format(
              R"({{"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
              R"("regsPerBlock":65536,"multiProcessorCount":{},"warpSize":32,)"
              R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
              R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)"
              R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,)"
              R"("isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":150754820096,)"
              R"("smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":{},)"
              R"("cudaDeviceId":0,"deviceVer":{},"driverVer":13000,"deviceName":"a GPU"}})",
              processors, cache, architecture * 10)};
}

class AttentionPlanOn : public testing::TestWithParam<Gpu> {
 protected:
  void SetUp() override {
    // cuDNN's own dlopen of libcuda.so.1 finds this library.
    ASSERT_NE(dlopen(TRIAX_DRIVER_WITHOUT_DEVICE, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    library_ = CudnnLibrary::find();
    if (!library_) GTEST_SKIP() << "skipped: no cuDNN";
    properties_.emplace(described_device(*library_, GetParam().text));
  }

  std::optional<AttentionPlan> plan_of(const AttentionProblem& problem, std::int64_t workspace) {
    return make_attention_plan(*library_, {nullptr, &*properties_, GetParam().architecture},
                               problem, workspace);
  }

  std::shared_ptr<const CudnnLibrary> library_;
  std::optional<CudnnDescriptor> properties_;
};

TEST_P(AttentionPlanOn, BothDirectionsOfEverySizeHavePlansInTheWorkspaceThatIsKeptForThem) {
  for (const Sizes& n :
       {Sizes{8, 1024, 12, 12, 64}, Sizes{4, 1000, 12, 4, 128}, Sizes{1, 2, 2, 1, 8}})
    for (const bool backward : {false, true}) {
      SCOPED_TRACE(fmt::format("B {} T {} H {} Hkv {} D {} {}", n.batch, n.length, n.heads,
                               n.key_heads, n.head_size, backward ? "backward" : "forward"));
      const auto workspace = attention_plan_workspace(n.batch * n.heads, n.length, n.head_size);
      const DType type = n.heads == n.key_heads ? DType::bf16 : DType::f16;
      const auto plan = plan_of(problem_of(n, type, backward), workspace);
      ASSERT_TRUE(plan);
      EXPECT_LE(plan->workspace, workspace);
    }
}

TEST_P(AttentionPlanOn, APlanThatWantsMoreWorkspaceIsNotUsed) {
  const AttentionProblem problem = problem_of({2, 256, 6, 3, 64}, DType::bf16, true);
  EXPECT_TRUE(plan_of(problem, 1 << 30));
  EXPECT_FALSE(plan_of(problem, 0));
}

// cuDNN 9.19 cannot compile this kernel for sm_100. That must not be an error of ours.
TEST_P(AttentionPlanOn, WhatCudnnCannotCompileHasNoPlan) {
  EXPECT_NO_THROW(plan_of(problem_of({1, 1, 1, 1, 64}, DType::bf16, true), 1 << 20));
}

TEST_P(AttentionPlanOn, OtherGpusHaveNone) {
  for (const int architecture : {80, 89, 120})
    EXPECT_FALSE(make_attention_plan(*library_, {nullptr, &*properties_, architecture},
                                     problem_of({1, 64, 1, 1, 64}, DType::bf16, false), 1 << 30));
}

INSTANTIATE_TEST_SUITE_P(, AttentionPlanOn,
                         testing::Values(gpu_of(90, 132, 62914560), gpu_of(100, 148, 132644864)),
                         testing::PrintToStringParamName());

TEST(AttentionWorkspace, GrowsWithSizesUpToALimit) {
  constexpr std::int64_t limit = largest_attention_workspace;
  std::int64_t last = 0;
  for (const std::int64_t length : {0L, 1L, 128L, 129L, 1024L, 1L << 20, 1L << 40}) {
    const std::int64_t bytes = attention_plan_workspace(12, length, 64);
    EXPECT_GE(bytes, last);
    EXPECT_LE(bytes, limit);
    last = bytes;
  }
  EXPECT_EQ(last, limit);
}

AttentionSlice slice_of(std::int64_t batch, std::int64_t length, std::int64_t heads,
                        std::int64_t key_heads, std::int64_t head_size) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.length = length;
  problem.heads = heads;
  problem.key_heads = key_heads;
  problem.head_size = head_size;
  const AttentionSlice slice = attention_slice(problem);
  if (slice.samples == 0) return slice;
  EXPECT_EQ(batch % slice.samples, 0);
  EXPECT_EQ(key_heads % slice.key_heads, 0);
  const std::int64_t of_slice = slice.samples * slice.key_heads * (heads / key_heads);
  const std::int64_t bytes = attention_plan_workspace(of_slice, length, head_size);
  EXPECT_LE(bytes, largest_attention_workspace);
  if (of_slice > 1) {  // one more head would exceed the workspace
    EXPECT_GT(bytes, attention_plan_workspace(of_slice - 1, length, head_size));
  }
  return slice;
}

TEST(AttentionSlices, FitTheWorkspaceAndCoverAllHeads) {
  const auto expect = [](const AttentionSlice& found, std::int64_t samples, std::int64_t heads) {
    EXPECT_EQ(found.samples, samples);
    EXPECT_EQ(found.key_heads, heads);
  };
  expect(slice_of(32, 1024, 12, 12, 64), 32, 12);  // GPT-2 124M: one slice
  expect(slice_of(64, 1024, 12, 12, 64), 32, 12);
  expect(slice_of(7, 2048, 32, 8, 64), 1, 8);
  expect(slice_of(2, 4096, 32, 8, 128), 1, 4);  // Llama 8B: 16 of 32 heads per slice
  expect(slice_of(1, 16384, 4, 4, 64), 1, 1);
  expect(slice_of(1, 16384, 4, 2, 64), 0, 0);  // the queries of a key head are not split
  expect(slice_of(1, std::int64_t{1} << 40, 1, 1, 64), 0, 0);
}

}  // namespace
}  // namespace triax::cuda
