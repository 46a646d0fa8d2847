// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ResolveOffload : public testing_support::JobFiles {
 protected:
  static std::string zero(const std::string& members) {
    return R"(, "zero_optimization": {)" + members + "}";
  }
  std::string nvme(const std::string& members = {}) const {
    return R"({"device": "nvme", "nvme_path": ")" + path(".") + "\"" + members + "}";
  }
};

TEST_F(ResolveOffload, DefaultsAreDeepSpeeds) {
  const ZeroConfig zero = config("").zero;
  EXPECT_EQ(zero.offload_optimizer.device, OffloadDevice::none);
  EXPECT_EQ(zero.offload_optimizer.buffers, 4);
  EXPECT_EQ(zero.offload_optimizer.ratio, 1.0);
  EXPECT_EQ(zero.offload_optimizer.part, 1'000'000'000);
  EXPECT_FALSE(zero.offload_optimizer.pipeline_read || zero.offload_optimizer.pipeline_write);
  EXPECT_EQ(zero.offload_param.device, OffloadDevice::none);
  EXPECT_EQ(zero.offload_param.buffers, 5);
  EXPECT_EQ(zero.offload_param.buffer_size, 100'000'000);
  EXPECT_EQ(zero.offload_param.max_in_cpu, 1'000'000'000);
  EXPECT_EQ(zero.offload_param.ratio, 1.0);
  EXPECT_TRUE(zero.offload_param.pipeline_read && zero.offload_param.pipeline_write);
  EXPECT_EQ(config("").aio.block_size, 1 << 20);
  EXPECT_EQ(config("").aio.queue_depth, 8);
}

TEST_F(ResolveOffload, KeysAreTaken) {
  const auto c = config(
      zero(
          R"("stage": 3, "sub_group_size": 1e6, "offload_optimizer": )" +
          nvme(
              R"(, "buffer_count": 2, "buffer_size": 7e5, "pipeline_read": true, "pipeline_write": true, "ratio": 0.5)") +
          R"(, "offload_param": )" +
          nvme(R"(, "buffer_count": 3, "buffer_size": 1e7, "max_in_cpu": 9, "ratio": 0.25,
                      "pipeline_read": false, "pipeline_write": false)")) +
      R"(, "aio": {"block_size": 262144, "queue_depth": 32})");
  EXPECT_EQ(c.zero.offload_optimizer.device, OffloadDevice::nvme);
  EXPECT_EQ(c.zero.offload_optimizer.nvme_path, path("."));
  EXPECT_EQ(c.zero.offload_optimizer.buffers, 2);
  EXPECT_TRUE(c.zero.offload_optimizer.pipeline_read && c.zero.offload_optimizer.pipeline_write);
  EXPECT_EQ(c.zero.offload_optimizer.ratio, 0.5);
  EXPECT_EQ(c.zero.offload_optimizer.part, 700'000);
  EXPECT_EQ(c.zero.offload_param.ratio, 0.25);
  EXPECT_FALSE(c.zero.offload_param.pipeline_read || c.zero.offload_param.pipeline_write);
  EXPECT_EQ(c.zero.offload_param.device, OffloadDevice::nvme);
  EXPECT_EQ(c.zero.offload_param.buffers, 3);
  EXPECT_EQ(c.zero.offload_param.buffer_size, 10'000'000);
  EXPECT_EQ(c.zero.offload_param.max_in_cpu, 9);
  EXPECT_EQ(c.aio.block_size, 262144);
  EXPECT_EQ(c.aio.queue_depth, 32);
}

TEST_F(ResolveOffload, OldNamesMeanTheCpu) {
  EXPECT_EQ(config(zero(R"("cpu_offload": true)")).zero.offload_optimizer.device,
            OffloadDevice::cpu);
  for (const char* key : {"cpu_offload_param", "cpu_offload_params"})
    EXPECT_EQ(config(zero(R"("stage": 3, ")" + std::string(key) + R"(": true)"))
                  .zero.offload_param.device,
              OffloadDevice::cpu);
}

TEST_F(ResolveOffload, AnOldNameBesideTheDiskIsRefused) {
  EXPECT_THAT(
      error(zero(R"("cpu_offload": true, "offload_optimizer": )" + nvme(""))),
      AllOf(HasSubstr("zero_optimization.cpu_offload"), HasSubstr("Leave one of them out")));
  EXPECT_THAT(error(zero(R"("stage": 3, "cpu_offload_param": true, "offload_param": )" + nvme(""))),
              HasSubstr("zero_optimization.cpu_offload_param"));
}

TEST_F(ResolveOffload, DirectoriesMustBeThere) {
  const auto error_with = [&](const std::string& path) {
    return error(zero(R"("offload_optimizer": {"device": "nvme")" + path + "}"));
  };
  EXPECT_THAT(error_with(""),
              AllOf(HasSubstr("zero_optimization.offload_optimizer.device"),
                    HasSubstr("needs zero_optimization.offload_optimizer.nvme_path")));
  EXPECT_EQ(error_with(R"(, "nvme_path": "")"), error_with(""));
  EXPECT_EQ(config(zero(R"("offload_optimizer": {"nvme_path": ""})")).zero.offload_optimizer.device,
            OffloadDevice::none);
  EXPECT_THAT(error_with(R"(, "nvme_path": "/nowhere/at/all")"),
              HasSubstr("no such directory: /nowhere/at/all"));
  EXPECT_THAT(error_with(R"(, "nvme_path": ")" + path("text.txt") + "\""),
              HasSubstr("text.txt is not a directory"));
  if (::geteuid() != 0) {  // root may write anywhere
    EXPECT_THAT(error_with(R"(, "nvme_path": "/")"), HasSubstr("/ cannot be written"));
  }
}

TEST_F(ResolveOffload, ParametersAreOffloadedUnderStageThreeOnly) {
  for (const char* device : {"cpu", "nvme"})
    EXPECT_THAT(error(zero(R"("stage": 2, "offload_param": {"device": ")" + std::string(device) +
                           R"(", "nvme_path": ")" + path(".") + "\"}")),
                AllOf(HasSubstr("zero_optimization.offload_param.device"),
                      HasSubstr("under ZeRO-3 only (stage is 2)")));
  EXPECT_THAT(error(zero(R"("stage": 2, "cpu_offload_param": true)")),
              HasSubstr("under ZeRO-3 only (stage is 2)"));
}

TEST_F(ResolveOffload, SizesAreChecked) {
  EXPECT_THAT(error(R"(, "aio": {"block_size": 5000})"),
              HasSubstr("aio.block_size: 5000 is not a multiple of 4096"));
  EXPECT_THAT(error(zero(R"("offload_optimizer": {"buffer_count": 0})")),
              HasSubstr("buffer_count: 0 is not allowed"));
  EXPECT_THAT(error(zero(R"("offload_optimizer": {"ratio": 1.5})")),
              HasSubstr("ratio: 1.5 is not allowed"));
}

}  // namespace
}  // namespace triax
