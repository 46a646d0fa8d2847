// SPDX-License-Identifier: Apache-2.0
// Forecast of a job before it runs: --dry-run and --print-plan.
#include <nlohmann/json.hpp>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class PlannedJob : public SmallJob {};

TEST_F(PlannedJob, ADryRunPrintsAndLeavesNothing) {
  const Outcome table = on_job("train", "--dry-run");
  EXPECT_EQ(table.status, 0) << table.text;
  EXPECT_THAT(table.text, AllOf(HasSubstr("stage 0: rank 0"), HasSubstr("no messages")));
  const Outcome json = on_job("train", "--dry-run --json --set parallel.data=2 2>/dev/null");
  EXPECT_EQ(json.status, 0);
  const auto parsed = nlohmann::json::parse(json.text);
  EXPECT_EQ(parsed["ranks"].size(), 2U);
  EXPECT_GT(parsed["messages"]["data"]["count"], 0);
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run")));
  const Outcome run = on_job("train", "--json");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.text, HasSubstr("--json needs --dry-run or --print-plan"));
}

TEST_F(PlannedJob, ADryRunAndAPlanAreBothPrinted) {
  const Outcome both = on_job("train", "--dry-run --print-plan");
  EXPECT_EQ(both.status, 0) << both.text;
  EXPECT_THAT(both.text, AllOf(HasSubstr("F c0 l0 m0"), HasSubstr("stage 0: rank 0")));
}

TEST_F(PlannedJob, APlanIsPrintedAsJsonToo) {
  for (const std::string dry : {"", "--dry-run "}) {
    const Outcome outcome = on_job("train", "--print-plan --json " + dry + "2>/dev/null");
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    const auto json = nlohmann::json::parse(outcome.text);
    ASSERT_EQ(json["stages"].size(), 1U);
    EXPECT_THAT(json["stages"][0].get<std::vector<std::string>>(), Contains("F c0 l0 m0"));
    EXPECT_EQ(json.contains("ranks"), !dry.empty());
  }
}

TEST_F(PlannedJob, AScheduleIsPrintedAndReadBack) {
  const std::string pipeline =
      " --set model.n_layer=2 --set parallel.pipeline=2 --set parallel.schedule=";
  const Outcome order = on_job("train", "--print-schedule 2>/dev/null" + pipeline + "zero-bubble");
  EXPECT_EQ(order.status, 0) << order.text;
  EXPECT_THAT(order.text, StartsWith("stage,operation,chunk,microbatch\n0,F,0,0\n"));
  const std::string file = directory_.file("order.csv", order.text);
  const Outcome plan = on_job("train", "--print-plan 2>/dev/null" + pipeline + "zero-bubble");
  const Outcome back =
      on_job("train", "--print-plan 2>/dev/null" + pipeline + shell_word("file:" + file));
  EXPECT_EQ(back.status, 0) << back.text;
  EXPECT_EQ(back.text, plan.text);
  const Outcome both = on_job("train", "--print-plan --print-schedule");
  EXPECT_EQ(both.status, 2) << both.text;
}

TEST_F(PlannedJob, ADryRunThatDoesNotFitPrintsTheTableAndSaysSo) {
  const Outcome large = on_job("train", "--dry-run --set model.n_embd=100000");
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.text, AllOf(HasSubstr("room for 0 such"), HasSubstr("does not fit"),
                                HasSubstr("Settings that shrink it, the most effective first")));
}

TEST_F(PlannedJob, APlanNeedsNoData) {
  const Outcome plan = on_job("train", "--print-plan --set data.train=gone.txt");
  EXPECT_EQ(plan.status, 0) << plan.text;
  EXPECT_THAT(plan.text, AllOf(HasSubstr("F c0 l0 m0"), HasSubstr("no such file: gone.txt")));
  const Outcome dry = on_job("train", "--dry-run --set data.train=gone.txt");
  EXPECT_EQ(dry.status, 0) << dry.text;
  EXPECT_THAT(dry.text, AllOf(HasSubstr("stage 0: rank 0"), HasSubstr("no such file: gone.txt")));
  const Outcome here = on_job("train", "--print-plan");
  EXPECT_THAT(here.text, Not(HasSubstr("missing")));
}

TEST_F(PlannedJob, WeightsAreLookedAt) {
  const std::string from =
      "--dry-run --set " +
      shell_word("model=" + nlohmann::json{{"from", directory_.path("hf")}}.dump());
  std::filesystem::create_directory(directory_.path("hf"));
  directory_.file("hf/config.json", R"({"model_type": "gpt2", "n_layer": 1, "n_head": 2,
      "n_embd": 16, "n_positions": 16, "vocab_size": 256})");
  const Outcome none = on_job("train", from);
  EXPECT_EQ(none.status, 2) << none.text;
  EXPECT_THAT(none.text, HasSubstr("For the shape alone, set model.config"));
  const std::string header = R"({"wte.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  directory_.file("hf/model.safetensors", file + header + std::string(4, '\0'));
  const Outcome wrong = on_job("train", from);
  EXPECT_EQ(wrong.status, 3) << wrong.text;
  EXPECT_THAT(wrong.text, HasSubstr("wte.weight"));
}

// The block before the last norm has no backward pass, and only the norm's 32 elements have state.
TEST_F(PlannedJob, FrozenTensorsHaveNeitherBackwardPassNorState) {
  const std::string norm = "--set train_only=transformer.ln_f ";
  const Outcome plan = on_job("train", "--print-plan " + norm);
  EXPECT_EQ(plan.status, 0) << plan.text;
  EXPECT_THAT(plan.text, AllOf(HasSubstr("F c0 l1 m0"), HasSubstr("B c0 l2 m0"),
                               Not(HasSubstr("B c0 l1 m0")), Not(HasSubstr("B c0 l0 m0"))));
  const Outcome dry = on_job("train", "--dry-run --json " + norm + "2>/dev/null");
  const auto device = nlohmann::json::parse(dry.text)["ranks"][0]["device"];
  EXPECT_EQ(device["gradients"], 32 * 4);
  EXPECT_EQ(device["optimizer"], 2 * 32 * 4);
}

TEST_F(PlannedJob, APatternOfNoTensorIsRefusedWithItsLine) {
  directory_.file("frozen.json", R"({"extends": "job.json",
      "freeze": ["transformer.wpe", "transformer.wtf"]})");
  const Outcome typo = triax("train " + shell_word(directory_.path("frozen.json")) + " --dry-run");
  EXPECT_EQ(typo.status, 2);
  EXPECT_THAT(typo.text, AllOf(HasSubstr("frozen.json:2: freeze: \"transformer.wtf\""),
                               HasSubstr("the nearest names are transformer.wte, ")));
  const Outcome nothing = on_job("train", "--dry-run --set freeze=transformer");
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.text, HasSubstr("freeze: no tensor of the model is left to train"));
}

// Hybrid sharding shards state within nodes; a plan of one process needs --ranks-per-node to know
// them.
TEST_F(PlannedJob, APlanOfOneProcessSaysWhatItTakesForNodes) {
  const std::string hybrid =
      "--dry-run --json --set parallel.data=8 --set train_batch_size=8 "
      "--set fsdp.sharding_strategy=HYBRID_SHARD ";
  const Outcome one_node = on_job("train", hybrid);
  EXPECT_EQ(one_node.status, 0);
  EXPECT_THAT(one_node.text,
              HasSubstr("one node of 8 ranks is assumed, with state sharded over all 8"));
  EXPECT_THAT(on_job("train", hybrid + "--ranks-per-node 2").text,
              HasSubstr("nodes of 2 ranks, state is sharded over 2 of the 8 data ranks"));
  const auto parameters = [&](const std::string& more) {
    const Outcome json = on_job("train", hybrid + more + " 2>/dev/null");
    return nlohmann::json::parse(json.text)["ranks"][0]["device"]["parameters"].get<double>();
  };
  EXPECT_NEAR(parameters("--ranks-per-node 2"), 4 * parameters(""), 0.2 * parameters(""));
  EXPECT_EQ(parameters("--ranks-per-node 8"), parameters(""));
  EXPECT_THAT(on_job("train", "--dry-run").text, Not(HasSubstr("node")));
  const Outcome split = on_job("train", "--dry-run --ranks-per-node 1 --set parallel.tensor=2");
  EXPECT_EQ(split.status, 2);
  EXPECT_THAT(split.text, HasSubstr("a tensor group of 2 ranks spans nodes"));
}

TEST_F(PlannedJob, ThePlanOfManyRanksIsThatOfTheirNodes) {
  const std::string plan = "train " + shell_word(directory_.path("job.json")) +
                           " --print-plan --set fsdp.sharding_strategy=HYBRID_SHARD "
                           "--set train_batch_size=4 --set parallel.data=";
  const Outcome many = triax_on(2, plan + "2 2>/dev/null");
  ASSERT_EQ(many.status, 0) << many.text;
  EXPECT_EQ(many.text, triax(plan + "2 2>/dev/null").text);
  EXPECT_THAT(many.text, Not(HasSubstr("is assumed")));
  EXPECT_NE(triax(plan + "4 --ranks-per-node 2 2>/dev/null").text,
            triax(plan + "4 2>/dev/null").text);
  const Outcome told = triax_on(2, plan + "2 --ranks-per-node 1");
  EXPECT_EQ(told.status, 2);
  EXPECT_THAT(told.text, HasSubstr("the nodes of these 2 ranks are known"));
  EXPECT_THAT(on_job("train", "--ranks-per-node 1").text, HasSubstr("is for a plan"));
}

TEST_F(PlannedJob, APlanOfOneProcessSaysWhichGridItTook) {
  EXPECT_THAT(on_job("train", "--dry-run --set parallel.pipeline=1").text,
              HasSubstr("planned for 1 rank(s), data 1 x pipeline 1 x tensor 1"));
  EXPECT_THAT(on_job("train", "--print-plan --set parallel.tensor=2").text,
              HasSubstr("planned for 2 rank(s), data 1 x pipeline 1 x tensor 2"));
}

// Each rank fits the machine alone, but all together do not.
TEST_F(PlannedJob, RanksOfANodeMustFitItTogether) {
  const std::string many = "--set parallel.data=100000 --set train_batch_size=100000 ";
  EXPECT_EQ(on_job("train", "--dry-run --json " + many + ">/dev/null").status, 0);
  for (const char* what : {"--dry-run --json ", "--print-plan "}) {
    const Outcome node = on_job("train", what + many + "--ranks-per-node 100000 2>&1 >/dev/null");
    EXPECT_EQ(node.status, 2) << what;
    EXPECT_THAT(node.text, HasSubstr("100000 rank(s) there need")) << what;
  }
}

}  // namespace
}  // namespace triax::test
