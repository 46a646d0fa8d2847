// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ResolveMemory : public testing_support::JobFiles {
 protected:
  ZeroConfig zero(const std::string& members, int ranks = 8) const {
    return config(R"(, "zero_optimization": {)" + members + "}", ranks).zero;
  }
  std::string refusal(const std::string& members, int ranks = 8) const {
    return error(R"(, "zero_optimization": {)" + members + "}", ranks);
  }
};

TEST_F(ResolveMemory, AShardGroupHasTheSizeOfEitherName) {
  EXPECT_EQ(zero(R"("stage": 3)").shard_size, 0);
  EXPECT_EQ(zero(R"("stage": 1, "mics_shard_size": 4)").shard_size, 4);
  EXPECT_FALSE(zero(R"("stage": 1, "mics_shard_size": 4)").shard_by_hpz);
  for (const char* stage : {"1", "2", "3"}) {
    const ZeroConfig by_hpz =
        zero(std::string(R"("zero_hpz_partition_size": 2, "stage": )") + stage);
    EXPECT_EQ(by_hpz.shard_size, 2) << stage;
    EXPECT_TRUE(by_hpz.shard_by_hpz) << stage;
  }
  EXPECT_EQ(zero(R"("stage": 3, "zero_hpz_partition_size": 2, "mics_shard_size": 2)").shard_size,
            2);
  EXPECT_FALSE(zero(R"("stage": 3, "zero_hpz_partition_size": 1)").shard_by_hpz);
}

TEST_F(ResolveMemory, BucketsAreTaken) {
  EXPECT_EQ(zero(R"("stage": 1)").allgather_bucket_size, 500'000'000);
  EXPECT_EQ(zero(R"("stage": 1, "allgather_bucket_size": 2e8)").allgather_bucket_size, 200'000'000);
  EXPECT_GT(zero(R"("stage": 1, "allgather_bucket_size": "auto")").allgather_bucket_size, 0);
  EXPECT_THAT(refusal(R"("stage": 1, "allgather_bucket_size": 0)"), HasSubstr("0 is not allowed"));
}

// "auto" at the positions where Hugging Face Accelerate's guide has it.
TEST_F(ResolveMemory, AutoIsWhatAccelerateFillsIn) {
  const std::string text = R"(, "zero_optimization": {"stage": "auto",
      "offload_optimizer": {"device": "auto"}, "offload_param": {"device": "auto"},
      "stage3_gather_16bit_weights_on_model_save": "auto", "gather_16bit_weights_on_model_save": "auto",
      "stage3_gather_fp16_weights_on_model_save": "auto"})";
  const Config c = config(text);
  EXPECT_EQ(c.zero.stage, 2);
  EXPECT_EQ(c.zero.offload_optimizer.device, OffloadDevice::none);
  EXPECT_EQ(c.zero.offload_param.device, OffloadDevice::none);
  EXPECT_FALSE(c.checkpoint.export_at_end);
  EXPECT_EQ(config(text + R"(, "fsdp": {"sharding_strategy": "FULL_SHARD"})").zero.stage, 3)
      << "no contradiction";
  EXPECT_THAT(refusal(R"("stage": "all")"), HasSubstr("expected integer or \"auto\""));
}

TEST_F(ResolveMemory, TwoSizesOfAShardGroupAreRefused) {
  EXPECT_THAT(refusal(R"("stage": 3, "zero_hpz_partition_size": 2, "mics_shard_size": 4)"),
              AllOf(HasSubstr("zero_optimization.zero_hpz_partition_size: 2"),
                    HasSubstr("mics_shard_size is 4, and all state is sharded over groups of one "
                              "size. Set only one of them")));
}

TEST_F(ResolveMemory, RanksWriteTogetherWhereTensorsAreCutByColumns) {
  const auto checkpoint = [&](const std::string& members) {
    return config(", " + members, 8).checkpoint;
  };
  const std::string by_columns = R"("parallel": {"tensor": 2})";
  EXPECT_FALSE(checkpoint(R"("checkpoint": {})").collective);
  EXPECT_TRUE(checkpoint(by_columns).collective);
  EXPECT_FALSE(checkpoint(by_columns + R"(, "checkpoint": {"collective": false})").collective);
  // An explicit `collective` turns async off, a derived one does not.
  const CheckpointConfig both = checkpoint(by_columns + R"(, "checkpoint": {"interval": 5})");
  EXPECT_TRUE(both.collective);
  EXPECT_EQ(both.async, AsyncWrites::where_it_fits);
  EXPECT_EQ(checkpoint(R"("checkpoint": {"interval": 5, "collective": true})").async,
            AsyncWrites::off);
}

}  // namespace
}  // namespace triax
