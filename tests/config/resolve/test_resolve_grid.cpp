// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::AllOf;
using testing::HasSubstr;

class ResolveGrid
    : public testing_support::JobFiles {  // the model has 8 layers, 4 heads, 128 positions
 protected:
  std::string batch(const std::string& keys) {
    return ", \"parallel\": {\"data\": \"auto\"}, " + keys;
  }
};

TEST_F(ResolveGrid, DataTakesTheRestOfTheRanks) {
  const auto p = config(R"(, "parallel": {"tensor": 2, "pipeline": 2})", 12).parallel;
  EXPECT_EQ(p.data, 3);
  EXPECT_EQ(config("", 5).parallel.data, 5);
  EXPECT_EQ(config(R"(, "parallel": {"tensor": 2, "data": 3})", 6).parallel.data, 3);
}

TEST_F(ResolveGrid, NoRanksMeansAsManyAsTheGridAsksFor) {
  EXPECT_EQ(config(R"(, "parallel": {"tensor": 2, "pipeline": 4})", 0).parallel.data, 1);
  EXPECT_EQ(config(R"(, "parallel": {"tensor": 2, "data": 3})", 0).parallel.data, 3);
}

TEST_F(ResolveGrid, BlocksOfStagesAreThoseOfTheModel) {
  const auto of = [](const std::string& blocks, const std::string& more = "") {
    return R"(, "parallel": {"pipeline": 2, "stage_layers": )" + blocks + more + "}";
  };
  EXPECT_EQ(config(of("[5, 3]"), 2).parallel.stage_layers, (std::vector<int>{5, 3}));
  EXPECT_TRUE(config(of("null"), 2).parallel.stage_layers.empty());
  EXPECT_TRUE(config(of(R"("by-speed")"), 2).parallel.stages_by_speed);
  EXPECT_FALSE(config(of("[5, 3]"), 2).parallel.stages_by_speed);
  EXPECT_THAT(error(of(R"("speed")"), 2),
              HasSubstr("expected list of numbers or \"by-speed\", got \"speed\""));
  EXPECT_EQ(error(of("[5, 4]"), 2),
            "job.json:3: parallel.stage_layers: 9 blocks in all, and the model has 8");
  EXPECT_THAT(error(of("[8]"), 2), HasSubstr("1 numbers, and parallel.pipeline 2 x parallel.chunks "
                                             "1 is 2. Give one for each"));
  EXPECT_THAT(error(of("[4.5, 3.5]"), 2), HasSubstr("a number of blocks is not whole"));
  EXPECT_THAT(error(of("[8, 0]"), 2), HasSubstr("[8,0] is not allowed"));
  EXPECT_EQ(config(of("[1, 2, 2, 3]", R"(, "chunks": 2, "schedule": "interleaved")") +
                       R"(, "gradient_accumulation_steps": 2)",
                   2)
                .parallel.stage_layers.size(),
            4U);
}

TEST_F(ResolveGrid, ImpossibleGridsNameOneThatFits) {
  EXPECT_EQ(error(R"(, "parallel": {"tensor": 3})", 8),
            "job.json:3: parallel.tensor: tensor 3 x pipeline 1 = 3 does not divide the job's 8 "
            "ranks. For example tensor 4, pipeline 1, data 2, or start a multiple of 3 ranks "
            "(mpiexec -n 3)");
  EXPECT_THAT(error(R"(, "parallel": {"pipeline": 3})", 8),
              HasSubstr("parallel.pipeline: tensor 1 x pipeline 3"));
  EXPECT_THAT(error(R"(, "parallel": {"tensor": 4, "pipeline": 4})", 8),
              HasSubstr("16 does not divide the job's 8 ranks. For example"));
  EXPECT_THAT(error(R"(, "parallel": {"tensor": 2, "data": 3})", 8),
              HasSubstr("parallel.data: tensor 2 x pipeline 1 x data 3 is not the job's 8 ranks. "
                        "Use --set parallel.data=auto (here 4), or start"));
  EXPECT_THAT(error(R"(, "parallel": {"tensor": 8})", 8),
              HasSubstr("parallel.tensor: 8 does not divide the model's 4 heads. For example "
                        "tensor 4, pipeline 1, data 2"));
  EXPECT_THAT(error(R"(, "parallel": {"pipeline": 16})", 16),
              HasSubstr("parallel.pipeline: 16 stages x 1 chunks are more than the model's 8 "
                        "layers. For example tensor 1, pipeline 8, data 2"));
  EXPECT_THAT(error(R"(, "parallel": {"tensor": 0})", 8), HasSubstr("0 is not allowed"));
  EXPECT_THAT(error(R"(, "parallel": {"tensor": 10000000, "pipeline": 10000000})", 8),
              HasSubstr("does not divide"));
  // No number of ranks gives more stages than layers, so the error names none.
  EXPECT_EQ(error(R"(, "parallel": {"pipeline": 9})", 8),
            "job.json:3: parallel.pipeline: 9 stages x 1 chunks are more than the model's 8 "
            "layers. For example tensor 1, pipeline 8, data 1");
  EXPECT_THAT(error(R"(, "parallel": {"pipeline": 3, "chunks": 2, "schedule": "interleaved"},
                   "gradient_accumulation_steps": 6)",
                    8),
              HasSubstr("For example tensor 1, pipeline 4, data 2"));
}

// A job.json has numbers where the job had "auto".
TEST_F(ResolveGrid, NumbersMeantForOtherRanksSayWhatToLetFollow) {
  const std::string numbers =
      R"(, "parallel": {"tensor": 2, "data": 2}, "train_batch_size": 8,
         "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4)";
  EXPECT_EQ(error(numbers, 4), "");
  EXPECT_EQ(error(numbers, 8),
            "job.json:3: parallel.data: tensor 2 x pipeline 1 x data 2 is not the job's 8 ranks. "
            "Use --set parallel.data=auto (here 4) and --set gradient_accumulation_steps=auto, or "
            "start as many ranks as the grid has");
  EXPECT_THAT(
      error(numbers, 8, {"train_micro_batch_size_per_gpu=4", "gradient_accumulation_steps=1"}),
      HasSubstr("(here 4) and --set train_micro_batch_size_per_gpu=auto, or"));
  const auto followed =
      config(numbers, 8, {"parallel.data=auto", "gradient_accumulation_steps=auto"});
  EXPECT_EQ(followed.parallel.data, 4);
  EXPECT_EQ(followed.batch.accumulation, 2);
  EXPECT_THAT(error(R"(, "parallel": {"tensor": 2, "data": 2})", 8),
              HasSubstr("parallel.data=auto (here 4), or start"));
}

TEST_F(ResolveGrid, KeyValueHeadsAndTensorMustDivideOneAnother) {
  const auto llama = [&](int heads, int kv, int tensor) {
    return error_of(
        job(), tensor,
        {"model={\"architecture\": \"llama\", \"num_hidden_layers\": 2, \"vocab_size\": 256, "
         "\"hidden_size\": " +
             std::to_string(16 * heads) + ", \"num_attention_heads\": " + std::to_string(heads) +
             ", \"num_key_value_heads\": " + std::to_string(kv) +
             ", \"n_layer\": null, \"n_head\": null, \"n_embd\": null, \"n_positions\": null}",
         "parallel.tensor=" + std::to_string(tensor), "parallel.data=1"});
  };
  EXPECT_EQ(llama(12, 6, 3), "");
  EXPECT_EQ(llama(12, 3, 6), "");
  EXPECT_THAT(
      llama(12, 6, 4),
      HasSubstr("parallel.tensor: 4 and the model's 6 key-value heads: neither divides the other"));
}

TEST_F(ResolveGrid, AnyPartOfTheBatchMayBeLeftOut) {
  const auto check = [&](const std::string& keys, std::int64_t g, std::int64_t m, std::int64_t a) {
    const auto b = config(batch(keys), 2).batch;
    EXPECT_EQ(b.global, g) << keys;
    EXPECT_EQ(b.micro, m) << keys;
    EXPECT_EQ(b.accumulation, a) << keys;
  };
  check(
      R"("train_batch_size": 24, "train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 4)",
      24, 3, 4);
  check(R"("train_batch_size": 24, "train_micro_batch_size_per_gpu": 3)", 24, 3, 4);
  check(R"("train_batch_size": 24, "gradient_accumulation_steps": 4)", 24, 3, 4);
  check(R"("train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 4)", 24, 3, 4);
  check(R"("train_batch_size": 24)", 24, 12, 1);
  check(R"("train_micro_batch_size_per_gpu": 3)", 6, 3, 1);
  check(R"("gradient_accumulation_steps": 4)", 8, 1, 4);
  check(
      R"("train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto")",
      2, 1, 1);
}

TEST_F(ResolveGrid, InconsistentBatchesGiveTheNumbers) {
  EXPECT_EQ(
      error(
          batch(
              R"("train_batch_size": 25, "train_micro_batch_size_per_gpu": 3, "gradient_accumulation_steps": 4)"),
          2),
      "job.json:3: train_batch_size: 25 is not train_micro_batch_size_per_gpu 3 x "
      "gradient_accumulation_steps 4 x parallel.data 2. Correct one of them, or set it to auto");
  EXPECT_THAT(
      error(batch(R"("train_batch_size": 25, "train_micro_batch_size_per_gpu": 3)"), 2),
      HasSubstr("25 is not a multiple of train_micro_batch_size_per_gpu 3 x parallel.data 2"));
  EXPECT_THAT(error(batch(R"("train_batch_size": 2, "gradient_accumulation_steps": 4)"), 2),
              HasSubstr("2 is not a multiple of gradient_accumulation_steps 4"));
  EXPECT_THAT(error(batch(R"("train_batch_size": 3)"), 2), HasSubstr("3 is not a multiple"));
  EXPECT_THAT(
      error(
          batch(
              R"("train_micro_batch_size_per_gpu": 1000000000, "gradient_accumulation_steps": 1000000)"),
          2),
      HasSubstr("more than 1e12 samples"));
  EXPECT_THAT(error(batch(R"("train_batch_size": 0)"), 2), HasSubstr("0 is not allowed"));
}

TEST_F(ResolveGrid, AScheduleByHandFitsTheJob) {
  const auto with = [&](const std::string& order, int accumulation, const std::string& more = "") {
    write("order.csv", order);
    return error(R"(, "parallel": {"pipeline": 2, "schedule": "file:order.csv"})" + more +
                     ", \"gradient_accumulation_steps\": " + std::to_string(accumulation),
                 2);
  };
  const std::string head = "stage,operation,chunk,microbatch\n";
  const std::string whole = head + "0,F,0,0\n0,B,0,0\n1,F,0,0\n1,B,0,0\n";
  EXPECT_EQ(with(whole, 1), "");
  EXPECT_THAT(with(whole, 2), AllOf(HasSubstr("parallel.schedule: file:"),
                                    HasSubstr("order.csv: stage 0: F c0 m1 is missing")));
  EXPECT_THAT(with("F\n", 1), HasSubstr("order.csv: line 1: the first line must be stage,"));
  const std::string split = head + "0,F,0,0\n0,B,0,0\n0,W,0,0\n1,F,0,0\n1,B,0,0\n1,W,0,0\n";
  EXPECT_EQ(with(split, 1), "");
  EXPECT_THAT(with(split, 1, R"(, "zero_optimization": {"stage": 2})"),
              HasSubstr("whose weight gradients add up over the step"));
  EXPECT_THAT(error(R"(, "parallel": {"schedule": "file:none.csv"})", 1),
              HasSubstr("parallel.schedule: no such file: none.csv. triax train JOB --print"));
  EXPECT_THAT(error(R"(, "parallel": {"schedule": "file:"})", 1), HasSubstr("\"file:...\""));
}

TEST_F(ResolveGrid, SchedulesHaveTheirConditions) {
  const auto with = [&](const std::string& parallel, int accumulation) {
    return error(", \"parallel\": {\"pipeline\": 2, " + parallel +
                     "}, \"gradient_accumulation_steps\": " + std::to_string(accumulation),
                 2);
  };
  EXPECT_EQ(with(R"("schedule": "interleaved", "chunks": 2)", 4), "");
  EXPECT_EQ(with(R"("schedule": "gpipe", "chunks": 2)", 3), "");
  EXPECT_EQ(with(R"("schedule": "1f1b")", 3), "");
  EXPECT_THAT(with(R"("schedule": "1f1b", "chunks": 2)", 4),
              HasSubstr("parallel.chunks: 2 with schedule 1f1b"));
  EXPECT_THAT(with(R"("schedule": "interleaved", "chunks": 2)", 3),
              HasSubstr("gradient_accumulation_steps: 3 is not a multiple of parallel.pipeline 2"));
  EXPECT_THAT(with(R"("schedule": "interleaved", "chunks": 5)", 4),
              HasSubstr("2 stages x 5 chunks are more than the model's 8 layers"));
  EXPECT_THAT(
      with(R"("schedule": "interleaved", "chunks": 9)", 4),
      HasSubstr("the model's 8 layers. For example tensor 1, pipeline 1, data 2, chunks 8"));
  EXPECT_EQ(with(R"("schedule": "zero-bubble")", 3), "");
  EXPECT_THAT(with(R"("schedule": "zero-bubble"}, "zero_optimization": {"stage": 2)", 4),
              HasSubstr("zero_optimization.stage: 2 with schedule zero-bubble"));
  EXPECT_THAT(with(R"("schedule": "1f2b")", 4),
              HasSubstr("allowed: \"gpipe\", \"1f1b\", \"interleaved\""));
}

}  // namespace
}  // namespace triax
