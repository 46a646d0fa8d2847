// SPDX-License-Identifier: Apache-2.0
#include "src/checkpoint/job_changes.hpp"

#include <gmock/gmock.h>

#include "tests/config/same_config.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

nlohmann::json job() {
  return golden_job(read_golden("gpt2-tiny"), {.micro = 2});
}

std::string resolved(const nlohmann::json& text) {
  return load(text, 1).resolved;
}

TEST(JobChanges, OfTheSameJobAreNone) {
  EXPECT_THAT(job_changes(resolved(job()), resolved(job())), IsEmpty());
}

TEST(JobChanges, GoldenJobsReadTheirResolvedTextsAlike) {
  for (const char* name : {"gpt2-tiny", "gpt2-odd", "llama-tiny", "qwen2-tiny"})
    for (const Layout& layout :
         {Layout{.micro = 2}, Layout{.pipeline = 2, .micro = 1, .recompute = 1, .type = "bf16"},
          Layout{.data = 2, .micro = 1, .zero = 3, .type = "fp16"}}) {
      SCOPED_TRACE(name + (", " + layout.text()));
      const LoadedJob first = load(golden_job(read_golden(name), layout), layout.ranks());
      const LoadedJob again = load(nlohmann::json::parse(first.resolved), layout.ranks());
      EXPECT_TRUE(testing_support::same(first.config, again.config));
      EXPECT_EQ(first.resolved, again.resolved);
    }
}

TEST(JobChanges, OfTheOptimizerLeaveTheLossesOfTheSameWeights) {
  auto other = job();
  other["optimizer"]["params"]["lr"] = 0.5;
  other["run"]["seed"] = 77;
  EXPECT_TRUE(same_losses(resolved(job()), resolved(other)));
  EXPECT_TRUE(same_losses("{}", resolved(other)));  // an import
  other["bf16"] = {{"enabled", true}};
  EXPECT_FALSE(same_losses(resolved(job()), resolved(other)));
}

TEST(JobChanges, AFileSeenFromAnotherDirectoryIsTheSame) {
  const auto on = [](const char* file) {
    return fmt::format(R"({{"data": {{"train": ["{}"]}}}})", file);
  };
  for (const char* other : {"/home/me/corpus/a.txt", "../corpus/a.txt", "./corpus/a.txt",
                            "configs/../../corpus/a.txt"}) {
    EXPECT_THAT(job_changes(on("corpus/a.txt"), on(other)), IsEmpty()) << other;
    EXPECT_THAT(job_changes(on(other), on("corpus/a.txt")), IsEmpty()) << other;
  }
  for (const char* other : {"corpus/b.txt", "/home/me/other/a.txt", "mycorpus/a.txt"})
    EXPECT_THAT(job_changes(on("corpus/a.txt"), on(other)), testing::SizeIs(1)) << other;
}

// The parameters that only one of the two optimizers has are not named.
TEST(JobChanges, NameAnotherOptimizer) {
  auto other = job();
  other["optimizer"] = {{"type", "SGD"},
                        {"params", {{"lr", 0.25}, {"weight_decay", 0.5}, {"momentum", 0.9}}}};
  EXPECT_THAT(job_changes(resolved(job()), resolved(other)),
              ElementsAre(testing::HasSubstr("optimizer.params.lr: "),
                          testing::HasSubstr("optimizer.params.weight_decay: "),
                          "resumed with another optimizer.type: \"AdamW\" in the checkpoint, "
                          "\"SGD\" now"));
}

TEST(JobChanges, NameFrozenTensors) {
  auto other = job();
  other["freeze"] = {"transformer.wpe"};
  EXPECT_THAT(job_changes(resolved(job()), resolved(other)),
              ElementsAre("resumed with another freeze: none in the checkpoint, "
                          "[\"transformer.wpe\"] now"));
}

TEST(JobChanges, NameEightBits) {
  auto other = job();
  other["bf16"] = {{"enabled", true}};
  auto before = other;
  before["fp8"] = {{"enabled", true}};
  EXPECT_THAT(job_changes(resolved(before), resolved(other)),
              ElementsAre("resumed with another fp8.enabled: true in the checkpoint, false now"));
}

TEST(JobChanges, NameDataOptimizerAndScheduler) {
  auto other = job();
  other["data"]["seed"] = 99;
  other["data"]["shuffle"] = true;
  other["gradient_clipping"] = 0;
  other["gradient_clipping_value"] = 0.5;
  other["optimizer"]["params"]["lr"] = 0.5;
  other["scheduler"] = {{"type", "cosine"}, {"params", {{"warmup", 3}}}};
  auto before = job();
  before["gradient_clipping"] = 0;
  before["data"]["seed"] = 98;
  before["data"]["shuffle"] = false;
  before["optimizer"]["params"]["lr"] = 0.25;
  before.erase("scheduler");
  EXPECT_THAT(
      job_changes(resolved(before), resolved(other)),
      ElementsAre("resumed with another data.seed: 98 in the checkpoint, 99 now",
                  "resumed with another data.shuffle: false in the checkpoint, true now",
                  "resumed with another gradient_clipping_value: none in the checkpoint, 0.5 now",
                  "resumed with another optimizer.params.lr: 0.25 in the checkpoint, 0.5 now",
                  "resumed with another scheduler.params.min_lr: none in the checkpoint, 0.0 now",
                  "resumed with another scheduler.params.warmup: none in the checkpoint, 3 now",
                  "resumed with another scheduler.type: none in the checkpoint, \"cosine\" now"));
}

TEST(JobChanges, NameTheTypes) {
  auto other = job();
  other["bf16"]["enabled"] = true;
  other["data_types"]["grad_accum_dtype"] = "fp32";
  EXPECT_THAT(job_changes(resolved(job()), resolved(other)),
              ElementsAre("resumed with another bf16.enabled: false in the checkpoint, true now",
                          "resumed with another data_types.grad_accum_dtype: none in the "
                          "checkpoint, \"fp32\" now"));
}

TEST(JobChanges, GridStepsAndDirectoriesMayChange) {
  auto other = job();
  other["run"]["steps"] = 1234;
  other["run"]["directory"] = "elsewhere";
  other["parallel"] = {{"pipeline", 1}};
  other["train_micro_batch_size_per_gpu"] = 1;
  other["gradient_accumulation_steps"] = "auto";
  EXPECT_THAT(job_changes(resolved(job()), resolved(other)), IsEmpty());
}

TEST(JobChanges, ATextThatIsNoJobSaysNothing) {
  for (const char* text : {"", "{", "[]", "null"})
    EXPECT_THAT(job_changes(text, resolved(job())), IsEmpty()) << text;
}

}  // namespace
}  // namespace triax::test
