// SPDX-License-Identifier: Apache-2.0
// Memory features that exclude each other, and values that are out of range: each is refused with
// the problem, the reason and the remedy.
#include <gmock/gmock.h>

#include <algorithm>

#include "src/config/keys/key_table.hpp"
#include "tests/config/job_files.hpp"

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Refusal {
  const char* name;
  const char* more;  // members of the job, which has 8 layers and 4 heads and runs on 4 ranks
  const char* what;
  const char* why;
  const char* what_to_do;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.more;
}

#define ZERO(members) ", \"zero_optimization\": {" members "}"
#define FSDP(members) ", \"fsdp\": {" members "}"

const Refusal refusals[] = {
    // Stages and groups.
    {"Stage4", ZERO(R"("stage": 4)"), "zero_optimization.stage: 4", "is not allowed",
     "allowed: 0 <= x <= 3"},
    {"StrategyAgainstStage", ZERO(R"("stage": 2)") FSDP(R"("sharding_strategy": "FULL_SHARD")"),
     "fsdp.sharding_strategy: FULL_SHARD", "is ZeRO-3, but zero_optimization.stage is 2",
     "Set only one of them"},
    {"UnknownStrategy", FSDP(R"("sharding_strategy": "HALF_SHARD")"),
     "fsdp.sharding_strategy: \"HALF_SHARD\"", "is not allowed", "\"FULL_SHARD\", "},
    {"UnknownPrefetch", FSDP(R"("backward_prefetch": "BACKWARD")"),
     "fsdp.backward_prefetch: \"BACKWARD\"", "is not allowed", "\"BACKWARD_PRE\", "},
    {"NoRanksInAGroup", ZERO(R"("stage": 3, "mics_shard_size": 0)"),
     "zero_optimization.mics_shard_size", "0 ranks cannot hold the state", "Set it to -1"},
    {"GroupOfThreeOfFour", ZERO(R"("stage": 3, "mics_shard_size": 3)"),
     "zero_optimization.mics_shard_size: 3", "does not divide the 4 data ranks",
     "Set it to a divisor of 4"},
    {"GroupBeyondTheRanks", ZERO(R"("stage": 1, "mics_shard_size": 8)"),
     "zero_optimization.mics_shard_size: 8", "does not divide the 4 data ranks",
     "Set it to a divisor"},
    {"GroupAtStage0", ZERO(R"("stage": 0, "mics_shard_size": 2)"),
     "zero_optimization.mics_shard_size", "nothing is sharded at ZeRO-0",
     "Set zero_optimization.stage to 1, 2 or 3"},
    {"GroupWithNoShard", ZERO(R"("mics_shard_size": 2)") FSDP(R"("sharding_strategy": "NO_SHARD")"),
     "zero_optimization.mics_shard_size", "nothing is sharded at ZeRO-0",
     "Set zero_optimization.stage to 1, 2 or 3"},
    {"HpzGroupOfThreeOfFour", ZERO(R"("stage": 3, "zero_hpz_partition_size": 3)"),
     "zero_optimization.zero_hpz_partition_size: 3", "does not divide the 4 data ranks",
     "Set it to a divisor of 4"},
    {"HpzGroupAtStage0", ZERO(R"("stage": 0, "zero_hpz_partition_size": 2)"),
     "zero_optimization.zero_hpz_partition_size", "nothing is sharded at ZeRO-0",
     "Set zero_optimization.stage"},
    {"TwoKindsOfGroup", ZERO(R"("stage": 3, "mics_shard_size": 2, "zero_hpz_partition_size": 4)"),
     "zero_optimization.zero_hpz_partition_size: 4",
     "zero_optimization.mics_shard_size is 2, and all state is sharded over groups of one size",
     "Set only one of them"},
    {"TwoNamesOfASize",
     ZERO(R"("stage": 3, "stage3_prefetch_bucket_size": 5, "prefetch_bucket_size": 6)"),
     "zero_optimization.prefetch_bucket_size: 6",
     "but its alias zero_optimization.stage3_prefetch_bucket_size is 5", "Set only one of them"},
    {"NegativeThreshold", ZERO(R"("stage3_param_persistence_threshold": -1)"),
     "zero_optimization.stage3_param_persistence_threshold: -1", "is not allowed", ">= 0"},
    {"EmptyBucket", ZERO(R"("reduce_bucket_size": 0)"), "zero_optimization.reduce_bucket_size: 0",
     "is not allowed", ">= 1"},
    // Offload.
    {"OptimizerNowhere", ZERO(R"("offload_optimizer": {"device": "nvme"})"),
     "zero_optimization.offload_optimizer.device",
     "\"nvme\" needs zero_optimization.offload_optimizer.nvme_path", "Name a directory"},
    {"ParametersNowhere", ZERO(R"("stage": 3, "offload_param": {"device": "nvme"})"),
     "zero_optimization.offload_param.device",
     "\"nvme\" needs zero_optimization.offload_param.nvme_path", "Name a directory"},
    {"NoSuchDirectory",
     ZERO(R"("offload_optimizer": {"device": "nvme", "nvme_path": "/nowhere/at/all"})"),
     "zero_optimization.offload_optimizer.nvme_path", "no such directory: /nowhere/at/all",
     "Create it on every node"},
    {"NoDirectory",
     ZERO(R"("stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/dev/null"})"),
     "zero_optimization.offload_param.nvme_path", "/dev/null is not a directory", "Name one"},
    {"UnknownDevice", ZERO(R"("offload_optimizer": {"device": "disk"})"),
     "zero_optimization.offload_optimizer.device: \"disk\"", "is not allowed", "\"nvme\""},
    {"ParametersAtStage2", ZERO(R"("stage": 2, "offload_param": {"device": "cpu"})"),
     "zero_optimization.offload_param.device", "under ZeRO-3 only (stage is 2)",
     "Set zero_optimization.stage to 3, or leave this out"},
    {"ParametersOnDiskAtStage0",
     ZERO(R"("offload_param": {"device": "nvme", "nvme_path": "/tmp"})"),
     "zero_optimization.offload_param.device", "under ZeRO-3 only (stage is 0)",
     "Set zero_optimization.stage to 3, or leave this out"},
    {"ParametersUnderShardGradOp",
     ZERO(R"("offload_param": {"device": "cpu"})") FSDP(R"("sharding_strategy": "SHARD_GRAD_OP")"),
     "zero_optimization.offload_param.device", "under ZeRO-3 only (stage is 2)",
     "Set zero_optimization.stage to 3, or leave this out"},
    {"ParametersByTheirOldName", ZERO(R"("stage": 1, "cpu_offload_params": true)"),
     "zero_optimization.cpu_offload_params", "under ZeRO-3 only (stage is 1)",
     "Set zero_optimization.stage to 3, or leave this out"},
    {"NoBuffers", ZERO(R"("offload_optimizer": {"buffer_count": 0})"),
     "zero_optimization.offload_optimizer.buffer_count: 0", "is not allowed", "1 <= x"},
    {"MoreThanAll", ZERO(R"("offload_optimizer": {"ratio": 1.5})"),
     "zero_optimization.offload_optimizer.ratio: 1.5", "is not allowed", "0 <= x <= 1"},
    {"EmptyBuffers", ZERO(R"("stage": 3, "offload_param": {"buffer_size": 0})"),
     "zero_optimization.offload_param.buffer_size: 0", "is not allowed", ">= 1"},
    {"LessThanNothingInMemory", ZERO(R"("stage": 3, "offload_param": {"max_in_cpu": -1})"),
     "zero_optimization.offload_param.max_in_cpu: -1", "is not allowed", ">= 0"},
    {"PartsBeyondCounting", ZERO(R"("sub_group_size": 1e30)"),
     "zero_optimization.sub_group_size: 1e+30", "is not allowed", ">= 1, below 9e15"},
    {"EmptyParts", ZERO(R"("sub_group_size": 0)"), "zero_optimization.sub_group_size: 0",
     "is not allowed", ">= 1"},
    {"BlocksOfOddSize", R"(, "aio": {"block_size": 5000})", "aio.block_size: 5000",
     "is not a multiple of 4096, as reads and writes past the page cache need",
     "Set it to one, or leave this out"},
    {"SmallBlocks", R"(, "aio": {"block_size": 512})", "aio.block_size: 512", "is not allowed",
     "4096 <= x"},
    {"NoDepth", R"(, "aio": {"queue_depth": 0})", "aio.queue_depth: 0", "is not allowed", "1 <= x"},
    // Recompute and precision.
    {"UnknownGranularity", R"(, "activation_checkpointing": {"granularity": "some"})",
     "activation_checkpointing.granularity: \"some\"", "is not allowed", "\"selective\""},
    {"FewerThanNoLayers", R"(, "activation_checkpointing": {"number_checkpoints": -1})",
     "activation_checkpointing.number_checkpoints: -1", "is not allowed", "0 <= x"},
    {"BothTypes", R"(, "fp16": {"enabled": true}, "bf16": {"enabled": true})", "fp16.enabled",
     "a model trains in one type", "set fp16 or bf16, not both"},
    {"Fp8OfFloat32", R"(, "fp8": {"enabled": true})", "fp8.enabled", "this model is fp32",
     "Enable bf16 too"},
    {"Fp8OfFloat16", R"(, "fp16": {"enabled": true}, "fp8": {"enabled": true})", "fp8.enabled",
     "this model is fp16", "Enable bf16 instead of fp16"},
    {"NoDeviceOfThatName", R"(, "run": {"device": "tpu"})", "run.device: \"tpu\"", "is not allowed",
     "(allowed: \"auto\", \"cpu\", \"gpu\")"},
    {"SumsOfAnotherType",
     R"(, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp16"})",
     "data_types.grad_accum_dtype: \"fp16\"", "needs a model of that type",
     "Set it to fp32, or enable fp16"},
    {"SumsOfNoType", R"(, "data_types": {"grad_accum_dtype": "int8"})",
     "data_types.grad_accum_dtype: \"int8\"", "is not allowed", "\"fp32\", \"bf16\", \"fp16\""},
    {"NoLossScale", R"(, "fp16": {"enabled": true, "min_loss_scale": 0})", "fp16.min_loss_scale: 0",
     "is not allowed", "> 0"},
    // The grid over which the state is sharded.
    {"TensorOfThree", R"(, "parallel": {"tensor": 3})", "parallel.tensor: tensor 3",
     "does not divide the job's 4 ranks", "For example tensor"},
    {"PipelineBeyondTheLayers",
     R"(, "parallel": {"pipeline": 4, "chunks": 4, "schedule": "gpipe"})",
     "parallel.pipeline: 4 stages x 4 chunks", "are more than the model's 8 layers",
     "For example tensor"},
    {"AnotherNumberOfRanks", R"(, "parallel": {"data": 3})", "parallel.data: tensor 1",
     "is not the job's 4 ranks", "Use --set parallel.data=auto"},
    {"ChunksOf1f1b", R"(, "parallel": {"pipeline": 2, "chunks": 2, "schedule": "1f1b"})",
     "parallel.chunks: 2", "with schedule 1f1b, which has one chunk per stage",
     "Set parallel.schedule to interleaved or gpipe"},
    {"InterleavedOddly",
     R"(, "parallel": {"pipeline": 2, "chunks": 2, "schedule": "interleaved"},
        "gradient_accumulation_steps": 3)",
     "gradient_accumulation_steps: 3",
     "is not a multiple of parallel.pipeline 2, as schedule interleaved needs",
     "Set it to a multiple, or set parallel.schedule to 1f1b"},
    {"BatchThatDoesNotAddUp",
     R"(, "train_batch_size": 9, "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 2)",
     "train_batch_size: 9", "is not train_micro_batch_size_per_gpu 1 x", "Correct one of them"},
    {"BatchThatDoesNotDivide", R"(, "train_batch_size": 9, "gradient_accumulation_steps": 2)",
     "train_batch_size: 9", "is not a multiple of gradient_accumulation_steps 2 x parallel.data 4",
     "Set it to a multiple, or one of them to auto"},
    {"NoBatch", R"(, "train_batch_size": null)", "train_batch_size: missing",
     "as in DeepSpeed there is no default", "Set it or train_micro_batch_size_per_gpu"},
    {"AccumulationAlone", R"(, "train_batch_size": null, "gradient_accumulation_steps": 2)",
     "train_batch_size: missing", "as in DeepSpeed there is no default", "Set it"},
    {"EndlessBatch",
     R"(, "train_micro_batch_size_per_gpu": 1e9, "gradient_accumulation_steps": 1e6)",
     "train_batch_size", "more than 1e12 samples per step",
     "Lower train_micro_batch_size_per_gpu or gradient_accumulation_steps"},
};
#undef ZERO
#undef FSDP

class MemoryRefusals : public testing_support::JobFiles,
                       public testing::WithParamInterface<Refusal> {};

TEST_P(MemoryRefusals, SayWhatAndWhyAndWhatToDo) {
  const Refusal& refusal = GetParam();
  EXPECT_THAT(error(refusal.more, 4), AllOf(HasSubstr(refusal.what), HasSubstr(refusal.why),
                                            HasSubstr(refusal.what_to_do)));
}

INSTANTIATE_TEST_SUITE_P(All, MemoryRefusals, testing::ValuesIn(refusals),
                         [](const auto& info) { return std::string(info.param.name); });

class RefusedKeys : public testing_support::JobFiles {};

// A value of the key's type that is not the default.
std::string another_value(const Key& key) {
  switch (key.type) {
    case KeyType::boolean:
      return key.default_value == true ? "false" : "true";
    case KeyType::object:
      return R"({"some": "thing"})";
    default:
      return "7";
  }
}

TEST_F(RefusedKeys, OfMemoryAndPrecisionSayWhyAndWhatToDo) {
  const KeyTable table;
  int keys = 0;
  for (const Key& key : table.keys()) {
    const std::string section = key.path.substr(0, key.path.find('.'));
    constexpr const char* sections[] = {"zero_optimization", "fsdp", "fp16",           "bf16",
                                        "bfloat16",          "amp",  "torch_autocast", "pipeline"};
    if (key.treatment != Treatment::refused ||
        std::ranges::find(sections, section) == std::end(sections))
      continue;
    ++keys;
    EXPECT_THAT(error("", 1, {key.path + "=" + another_value(key)}),
                AllOf(HasSubstr("--set: " + key.path + ": "),
                      HasSubstr(" is refused (" + key.reason + "). Leave it out")));
    EXPECT_FALSE(key.reason.empty()) << key.path;
  }
  EXPECT_GE(keys, 12);
}

}  // namespace
}  // namespace triax
