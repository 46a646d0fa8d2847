// SPDX-License-Identifier: Apache-2.0
// A run that goes back to a checkpoint because of a loss spike equals a run without the data
// between checkpoint and spike.
#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/support/matchers.hpp"
#include "tests/trainer/spike_job.hpp"

namespace triax::test {
namespace {

// Jobs for each number of ranks, with variations of ZeRO stage, type and checkpoint options.
std::vector<nlohmann::json> jobs(const std::string& text, const SharedDirectory& directory) {
  std::vector<nlohmann::json> jobs;
  const auto add = [&](const Layout& layout) -> nlohmann::json& {
    return jobs.emplace_back(
        spike_job(layout, text, directory.path("run-" + std::to_string(jobs.size()))));
  };
  if (world_size() == 1) {
    offload_optimizer(add({.micro = 2}), directory.path());
    add({.micro = 4, .type = "fp16"})["fp16"]["initial_scale_power"] = 8;
  } else if (world_size() == 2) {
    add({.pipeline = 2, .micro = 2})["checkpoint"]["async"] = true;
    add({.data = 2, .micro = 2, .zero = 2, .type = "bf16"})["checkpoint"]["async"] = true;
  } else {
    add({.tensor = 2, .data = 2, .micro = 2, .zero = 1})["checkpoint"]["async"] = false;
    auto& stored = add({.data = 4, .micro = 2, .zero = 3});
    offload_optimizer(stored, directory.path());
    offload_parameters(stored, directory.path());
  }
  return jobs;
}

class Rollback : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    return shared_file(directory_, name, text);
  }
  // Job on the first layout for this number of ranks.
  nlohmann::json job(const std::vector<int>& strange) const {
    return jobs(file("text", spike_text(strange)), directory_).front();
  }
  static std::string directory_of(const nlohmann::json& job) { return job["run"]["directory"]; }
  static CheckpointHeader header_of(const std::string& run, std::int64_t step) {
    return CheckpointReader(checkpoint_path(run + "/checkpoints", step)).header();
  }
  static nlohmann::json losses_of(const CheckpointHeader& header) {
    return nlohmann::json::parse(header.job)["triax"]["losses"];
  }
  SharedDirectory directory_;
};

// The spike is the loss of step 10, and the newest file that of step 8: batches 8 and 9 are
// skipped.
TEST_F(Rollback, IsTheRunThatWasNotGivenTheDataBetween) {
  const std::string text = file("text", spike_text({9}));
  const std::string without = file("without", spike_text({9}, {8, 9}));
  for (nlohmann::json job : jobs(text, directory_)) {
    SCOPED_TRACE(job.dump());
    train_to_the_end(job);
    const std::string run = directory_of(job);
    const auto found = steps_of(run);
    const auto events = metrics_of(run);
    ASSERT_EQ(events.size(), found.size() + 1);
    EXPECT_EQ(events[8], nlohmann::json::parse(fmt::format(
                             R"({{"event": "rollback", "step": 8, "spike_step": 9, "spike_loss": {},
                                 "checkpoint": "{}/checkpoints/step-000008.h5", "sample": 80,
                                 "samples_skipped": 16, "number": 1}})",
                             events[8]["spike_loss"].dump(), run)));
    job["run"]["directory"] = run + "-without";
    job["data"]["train"] = {without};
    train_to_the_end(job);
    const auto expected = metrics_of(run + "-without");
    ASSERT_EQ(expected.size(), 16U);
    expect_resumed(found, expected, 0, 0.0, 0.0);
    for (const std::int64_t step : {12, 16}) {
      const CheckpointHeader header = header_of(run, step);
      EXPECT_EQ(header.samples, (step + 2) * spike_batch);
      EXPECT_EQ(header.tokens, step * spike_batch * spike_length);
      // The median that later losses are compared with.
      const auto losses = losses_of(header), alike = losses_of(header_of(run + "-without", step));
      for (const char* key : {"window", "counted", "within"})
        EXPECT_EQ(losses[key], alike[key]) << key;
      EXPECT_EQ(losses["rollbacks"], 1);
    }
  }
}

TEST_F(Rollback, LinesOfTheStepsThatAreMadeAgainAreSetAside) {
  const auto job = this->job({9});
  train_to_the_end(job);
  std::vector<std::int64_t> steps;
  std::ifstream aside(superseded_metrics(directory_of(job) + "/metrics.jsonl"));
  for (std::string line; std::getline(aside, line);) {
    const auto json = nlohmann::json::parse(line);
    steps.push_back(json["step"]);
    EXPECT_EQ(json.contains("loss_spike"), json["step"] == 9) << line;
  }
  EXPECT_THAT(steps, ElementsAre(8, 9));
}

// The file of the spike's step holds the weights that led to it.
TEST_F(Rollback, AFileFromBehindTheLastGoodLossIsSetAside) {
  const auto job = this->job({8});
  train_to_the_end(job);
  const std::string checkpoints = directory_of(job) + "/checkpoints/";
  EXPECT_TRUE(std::filesystem::exists(checkpoints + "step-000008.h5.superseded"));
  EXPECT_EQ(metrics_of(directory_of(job))[4]["checkpoint"], checkpoints + "step-000004.h5");
  EXPECT_EQ(CheckpointReader(checkpoints + "step-000008.h5").header().samples, 13 * spike_batch);
}

// The only file kept: the validation after 8 steps, not the loss of step 9, shows its weights
// sound.
TEST_F(Rollback, GoesBackToAFileThatAValidationHasProven) {
  auto job = this->job({8});
  job["data"]["valid"] = {file("valid", spike_text({}))};
  job["run"].update({{"eval_interval", 4}, {"eval_steps", 1}});
  job["checkpoint"]["keep"] = 1;
  train_to_the_end(job);
  std::vector<std::string> rollbacks;
  for (const auto& line : metrics_of(directory_of(job)))
    if (line.contains("event")) rollbacks.push_back(line["checkpoint"]);
  EXPECT_THAT(rollbacks, ElementsAre(directory_of(job) + "/checkpoints/step-000008.h5"));
}

// Checkpoints hold the sample offset: the same steps follow on this grid and on others.
TEST_F(Rollback, AResumeBehindItSeesTheSameSamples) {
  auto job = this->job({9});
  train_to_the_end(job);
  const auto whole = steps_of(directory_of(job));
  std::vector<Layout> others = {{.micro = 4}};
  if (world_size() == 2) others = {{.tensor = 2, .micro = 4}, {.data = 2, .micro = 1, .zero = 1}};
  if (world_size() == 4) others = {{.pipeline = 2, .data = 2, .micro = 1}};
  const std::string file = directory_of(job) + "/checkpoints/step-000012.h5";
  const std::string text = job["data"]["train"][0];
  job["run"]["directory"] = directory_.path("again");
  job["checkpoint"]["resume"] = file;
  train_to_the_end(job);
  expect_resumed(metrics_of(directory_.path("again")), whole, 12, 0.0, 0.0);
  for (const Layout& layout : others) {
    SCOPED_TRACE(layout.text());
    auto other = spike_job(layout, text, directory_.path(layout.text()));
    other["checkpoint"]["resume"] = file;
    train_to_the_end(other);
    expect_resumed(metrics_of(directory_.path(layout.text())), whole, 12, 1e-5, 1e-4);
  }
}

// The file that the run goes back to does not record the rollback; its losses lead to the same
// rollback again.
TEST_F(Rollback, ARunThatIsKilledRightBehindItMakesItAgain) {
  auto job = this->job({9});
  train_to_the_end(job);
  const std::string first = directory_of(job);
  const auto whole = metrics_of(first);
  job["checkpoint"]["resume"] = first + "/checkpoints/step-000008.h5";
  job["run"]["directory"] = directory_.path("again");
  train_to_the_end(job);
  const auto again = metrics_of(directory_.path("again"));
  ASSERT_EQ(again.size() + 8, whole.size());
  EXPECT_EQ(again[0]["event"], "rollback");
  for (const char* key : {"step", "spike_step", "spike_loss", "sample"})
    EXPECT_EQ(again[0][key], whole[8][key]) << key;
  expect_resumed(steps_of(directory_.path("again")), steps_of(first), 8, 0.0, 0.0);
}

TEST_F(Rollback, TooManyInARowEndTheRun) {
  std::vector<int> strange;
  for (int batch = 9; batch < 40; ++batch) strange.push_back(batch);
  auto job = this->job(strange);
  job["run"]["loss_spike"]["max_rollbacks"] = 2;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              AllOf(HasSubstr("the loss of step 9, "), HasSubstr("is more than 1.5 x "),
                    HasSubstr("2 rollbacks (run.loss_spike.max_rollbacks) were made here")));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(checkpoint_names(directory_of(job)).front(), "step-000008.h5");
}

TEST_F(Rollback, NeedsACheckpointToGoBackTo) {
  auto job = this->job({9});
  job["checkpoint"]["interval"] = 10;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              AllOf(HasSubstr("the loss of step 10, "), HasSubstr("no checkpoint from before it")));
}

// A loss that is not finite is no spike.
TEST_F(Rollback, RuinedWeightsThatARunResumesAreSetAside) {
  auto job = this->job({});
  job["run"]["steps"] = 4;
  train_to_the_end(job);
  auto ruining = job;
  ruining["run"]["steps"] = 5;
  ruining["optimizer"]["params"]["lr"] = 1e18;
  train_to_the_end(ruining);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(checkpoint_names(directory_of(job)), ElementsAre("step-000005.h5", "step-000004.h5"));
  job["run"]["steps"] = 16;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              AllOf(HasSubstr("no batch has a finite loss with the weights that step 5 left"),
                    HasSubstr("step-000004.h5 is the newest checkpoint with a loss within")));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(checkpoint_names(directory_of(job)), ElementsAre("step-000004.h5"));
}

TEST_F(Rollback, AStopLeavesTheCheckpointFromBeforeTheSpike) {
  auto job = this->job({9});
  job["run"]["loss_spike"]["action"] = "stop";
  EXPECT_THAT(
      error_of([&] { train_to_the_end(job); }),
      AllOf(HasSubstr("the loss of step 10, "), HasSubstr("samples 72 to 79"),
            HasSubstr("checkpoint.resume=" + directory_of(job) + "/checkpoints/step-000008.h5")));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(checkpoint_names(directory_of(job)), ElementsAre("step-000008.h5", "step-000004.h5"));
  EXPECT_EQ(metrics_of(directory_of(job)).back()["loss_spike"], true);
}

TEST_F(Rollback, AWarningChangesNothing) {
  auto job = this->job({9});
  job["run"]["loss_spike"] = {{"factor", 1e9}};
  train_to_the_end(job);
  const auto expected = metrics_of(directory_of(job));
  job["run"]["loss_spike"] = {{"factor", 1.5}, {"window", 4}};
  job["run"]["directory"] = directory_.path("warned");
  train_to_the_end(job);
  const auto found = metrics_of(directory_.path("warned"));
  expect_resumed(found, expected, 0, 0.0, 0.0);
  for (const auto& line : found) EXPECT_EQ(line.contains("loss_spike"), line["step"] == 9) << line;
  for (const auto& line : expected) EXPECT_FALSE(line.contains("loss_spike")) << line;
}

}  // namespace
}  // namespace triax::test
