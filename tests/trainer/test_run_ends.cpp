// SPDX-License-Identifier: Apache-2.0
// Ends of a run: during bad steps, on a signal, with the files from which the same command
// continues.
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <filesystem>
#include <mutex>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/io/token_fixtures.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// While it lives, a log line that contains the text raises SIGUSR1.
class SignalAtLine {
 public:
  explicit SignalAtLine(const std::string& text) : sink_(std::make_shared<Sink>()) {
    sink_->text = text;
    spdlog::default_logger()->sinks().push_back(sink_);
  }
  ~SignalAtLine() { spdlog::default_logger()->sinks().pop_back(); }
  SignalAtLine(const SignalAtLine&) = delete;
  SignalAtLine& operator=(const SignalAtLine&) = delete;

 private:
  struct Sink : spdlog::sinks::base_sink<std::mutex> {
    std::string text;
    void sink_it_(const spdlog::details::log_msg& message) override {
      if (std::string_view(message.payload.data(), message.payload.size()).find(text) !=
          std::string_view::npos)
        kill(getpid(), SIGUSR1);
    }
    void flush_() override {}
  };
  std::shared_ptr<Sink> sink_;
};

class RunEnds : public testing::Test {
 protected:
  nlohmann::json job(const std::string& run, std::int64_t steps) const {
    auto job = golden_job(read_golden("gpt2-deep"), {.micro = 4});
    job.erase("scheduler");
    job.erase("checkpoint");
    job["run"]["directory"] = directory_.path(run);
    job["run"]["steps"] = steps;
    job["run"]["progress"] = "none";
    return job;
  }
  // A job whose first update breaks the weights: no later step is finite.
  nlohmann::json diverging(std::int64_t steps, double rate = 1e18) const {
    auto diverges = job("run", steps);
    diverges["optimizer"]["params"]["lr"] = rate;
    return diverges;
  }
  std::vector<std::string> checkpoints(const std::string& run) const {
    std::vector<std::string> names;
    for (const std::string& path : list_checkpoints(directory_.path(run + "/checkpoints")))
      names.push_back(std::filesystem::path(path).filename());
    return names;
  }
  std::vector<nlohmann::json> lines(const std::string& run) const {
    return metrics_of(directory_.path(run));
  }
  // Runs a job with `signal` (0: none) sent before its first step.
  static RunEnd signalled(const nlohmann::json& json, int signal) {
    const LoadedJob loaded = load(json, 1);
    ProcessGrid grid = make_grid(MPI_COMM_SELF, loaded.config);
    Trainer trainer(loaded, grid);
    if (signal != 0) kill(getpid(), signal);
    return trainer.run();
  }
  // A job that validates after every second step, in several batches of separate data.
  nlohmann::json validated(const std::string& run, std::int64_t steps) const {
    auto validated = job(run, steps);
    validated["data"]["valid"] = directory_.path("valid.bin");
    validated["run"]["eval_interval"] = 2;
    return validated;
  }
  // Writes the validation tokens, with `one` in the middle.
  void write_valid(std::uint16_t one) const {
    const std::int64_t length = job("run", 1)["data"]["seq_length"];
    std::vector<std::uint16_t> tokens(static_cast<std::size_t>(40 * length + 1), 1);
    tokens[tokens.size() / 2] = one;
    directory_.file("valid.bin", llmc_shard(tokens));
  }
  // Expects equal metrics in both runs, except for times.
  void expect_same_lines(const std::string& a, const std::string& b) const {
    const auto found = lines(a), whole = lines(b);
    ASSERT_EQ(found.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const char* key : {"step", "loss", "grad_norm", "valid_loss", "tokens"})
        EXPECT_EQ(found[i].value(key, nlohmann::json()), whole[i].value(key, nlohmann::json()))
            << i << ' ' << key;
  }
  TempDirectory directory_;
};

// No batch had a finite loss with the weights that the first step left: a file of them would be
// resumed for ever.
TEST_F(RunEnds, WeightsThatTheFirstStepRuinedAreNotWritten) {
  for (const std::int64_t interval : {0, 1}) {
    auto job = diverging(3);
    job["checkpoint"] = {{"interval", interval}};
    for (int start = 0; start < 2; ++start) {
      EXPECT_THAT(
          error_of([&] { train_to_the_end(job); }),
          AllOf(HasSubstr("2 steps in a row, from step 2 on"),
                HasSubstr("no batch has a finite loss with the weights that step 1 left; no "
                          "other checkpoint is there: rerun the same command to begin")));
      EXPECT_THAT(checkpoints("run"), IsEmpty());
    }
  }
}

TEST_F(RunEnds, TooManyBadStepsAtTheLastStepLeaveNoRuinedWeights) {
  auto job = diverging(3);
  job["run"]["max_bad_steps"] = 1;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              HasSubstr("2 steps in a row, from step 2 on"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
}

TEST_F(RunEnds, WeightsThatTheLastUpdateBrokeAreNotWritten) {
  EXPECT_THAT(error_of([&] { train_to_the_end(diverging(1, 1e39)); }),
              HasSubstr("weights are not finite after the last step, 1"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
}

// The checkpoint is due after the step whose update broke the weights; it would stay the newest
// forever.
TEST_F(RunEnds, WeightsThatAnUpdateBrokeAreNotTheNewest) {
  auto job = diverging(10, 1e39);
  job["checkpoint"]["interval"] = 1;
  job["run"]["max_bad_steps"] = 1;
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }), HasSubstr("in a row, from step 2 on"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
}

// The update of step 2 leaves finite weights, with which no batch has a finite loss.
TEST_F(RunEnds, ACheckpointOfRuinedWeightsIsSetAside) {
  train_to_the_end(job("run", 2));
  auto job = diverging(10);
  job["checkpoint"] = {{"interval", 1}, {"keep", 1}};
  job["run"]["max_bad_steps"] = 1;
  EXPECT_THAT(
      error_of([&] { train_to_the_end(job); }),
      AllOf(HasSubstr("no batch has a finite loss with the weights that step 3 left"),
            HasSubstr("step-000002.h5 is the newest checkpoint with a loss within the spike limit"),
            Not(HasSubstr("there is no checkpoint"))));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000002.h5"));
  EXPECT_TRUE(
      std::filesystem::exists(directory_.path("run/checkpoints/step-000003.h5.superseded")));
}

// The run that ruined the weights ended before a loss of theirs was known.
TEST_F(RunEnds, RuinedWeightsThatARunResumesAreSetAside) {
  train_to_the_end(job("run", 2));
  train_to_the_end(diverging(3));
  ASSERT_THAT(checkpoints("run"), ElementsAre("step-000003.h5", "step-000002.h5"));
  auto other = job("run", 10);
  other["bf16"] = {{"enabled", true}};  // perhaps the precision is at fault: all files stay
  EXPECT_THAT(error_of([&] { train_to_the_end(other); }),
              Not(HasSubstr("no batch has a finite loss")));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000003.h5", "step-000002.h5"));
  EXPECT_THAT(
      error_of([&] { train_to_the_end(job("run", 10)); }),
      AllOf(HasSubstr("no batch has a finite loss with the weights that step 3 left"),
            HasSubstr("step-000002.h5 is the newest checkpoint with a loss within the spike limit: "
                      "rerun the same command")));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000002.h5"));
  EXPECT_TRUE(
      std::filesystem::exists(directory_.path("run/checkpoints/step-000003.h5.superseded")));
  train_to_the_end(job("run", 4));
  EXPECT_EQ(checkpoints("run").front(), "step-000004.h5");
}

TEST_F(RunEnds, WithoutASoundCheckpointRuinedWeightsAreSetAsideToo) {
  train_to_the_end(diverging(1));
  ASSERT_THAT(checkpoints("run"), ElementsAre("step-000001.h5"));
  auto sane = job("run", 4);
  sane["checkpoint"] = {{"resume", "must"}};
  EXPECT_THAT(error_of([&] { train_to_the_end(sane); }),
              HasSubstr("no other checkpoint is there: rerun with --set checkpoint.resume=never"));
  EXPECT_THAT(checkpoints("run"), IsEmpty());
  train_to_the_end(job("run", 4));
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000004.h5"));
}

TEST_F(RunEnds, AStopWithoutACheckpointToGoOnFromIsAFailure) {
  auto bad = job("run", 100);
  bad["fp16"] = {{"enabled", true}, {"loss_scale", 1e30}};  // no step is finite
  bad["run"]["max_bad_steps"] = 100;
  EXPECT_THAT(error_of([&] { signalled(bad, SIGUSR1); }),
              AllOf(HasSubstr("stopped by SIGUSR1 after 1 of 100 steps without a checkpoint"),
                    HasSubstr("not finite")));
}

TEST_F(RunEnds, AStopAmidBadStepsBehindACheckpointIsAStop) {
  train_to_the_end(job("run", 2));
  auto bad = job("run", 100);
  bad["fp16"] = {{"enabled", true}, {"loss_scale", 1e30}};
  EXPECT_EQ(signalled(bad, SIGUSR1), RunEnd::stopped);
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000002.h5"));
}

// Like the walltime, run.time_limit includes the time of the start.
TEST_F(RunEnds, TheTimeOfAJobCountsFromTheStartOfItsProgram) {
  auto limited = job("run", 2);
  limited["run"].update({{"time_limit", "1h"}, {"stop_before_end", "10m"}});
  const LoadedJob loaded = load(limited, 1);
  ProcessGrid grid = make_grid(MPI_COMM_SELF, loaded.config);
  Trainer trainer(loaded, grid);
  const auto now = RunRequests::Clock::now();
  EXPECT_EQ(trainer.run(now - std::chrono::minutes(49)), RunEnd::done);
  limited["run"]["directory"] = directory_.path("late");
  const LoadedJob again = load(limited, 1);
  Trainer late(again, grid);  // start-up took nearly all of its time: it makes one step at least
  EXPECT_EQ(late.run(now - std::chrono::minutes(51)), RunEnd::stopped);
  EXPECT_THAT(checkpoints("late"), ElementsAre("step-000001.h5"));
}

// Signals request checkpoints even if the job has none.
TEST_F(RunEnds, AnotherRunsCheckpointsAreNeitherAddedToNorPruned) {
  auto first = job("a", 3);
  first["checkpoint"] = {{"interval", 1}};
  train_to_the_end(first);
  auto second = job("b", 6);
  second["checkpoint"] = {{"directory", directory_.path("a/checkpoints")},
                          {"interval", 0},
                          {"at_end", false},
                          {"keep", 1}};
  EXPECT_THAT(error_of([&] { signalled(second, SIGUSR1); }),
              AllOf(HasSubstr("stopped by SIGUSR1 after 4 of 6 steps without a checkpoint"),
                    HasSubstr("a/checkpoints lies outside run.directory")));
  EXPECT_EQ(signalled(second, SIGUSR2), RunEnd::done);
  EXPECT_THAT(checkpoints("a"), ElementsAre("step-000003.h5", "step-000002.h5", "step-000001.h5"));
}

TEST_F(RunEnds, AStopDoesNotWaitForAnEvaluationWhichTheNextRunMakes) {
  const auto evaluated = [&](const std::string& run) {
    auto json = job(run, 3);
    json["data"]["valid"] = json["data"]["train"];
    json["run"].update({{"eval_interval", 1}, {"eval_steps", 1}});
    return json;
  };
  EXPECT_EQ(signalled(evaluated("run"), SIGUSR1), RunEnd::stopped);
  EXPECT_EQ(lines("run").size(), 1U);
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000001.h5"));
  train_to_the_end(evaluated("run"));
  train_to_the_end(evaluated("whole"));
  const auto found = lines("run"), whole = lines("whole");
  ASSERT_EQ(found.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const char* key : {"step", "loss", "valid_loss", "tokens"})
      EXPECT_EQ(found[i].value(key, nlohmann::json()), whole[i].value(key, nlohmann::json())) << i;
  train_to_the_end(evaluated("run"));  // done already: adds nothing
  EXPECT_EQ(lines("run").size(), whole.size());
}

TEST_F(RunEnds, AValidationThatFailsLeavesTheCheckpointOfItsStep) {
  write_valid(1);
  train_to_the_end(validated("half", 2));
  train_to_the_end(validated("whole", 4));
  for (const std::int64_t steps : {2, 4}) {
    auto failing = validated("run", steps);
    failing["checkpoint"] = {{"interval", 2}};
    write_valid(60000);
    EXPECT_THAT(error_of([&] { train_to_the_end(failing); }), HasSubstr("is 60000"));
    EXPECT_THAT(checkpoints("run"), ElementsAre("step-000002.h5"));
    write_valid(1);
    train_to_the_end(failing);
    expect_same_lines("run", steps == 2 ? "half" : "whole");
    std::filesystem::remove_all(directory_.path("run"));
  }
}

TEST_F(RunEnds, DataOfAnotherTokenizerAreRefusedBeforeTheFirstStep) {
  const std::int64_t length = job("run", 1)["data"]["seq_length"];
  directory_.file("valid.bin", llmc_shard(std::vector<std::uint16_t>(
                                   static_cast<std::size_t>(length + 1), 60000)));
  try {
    train_to_the_end(validated("run", 4));
    FAIL() << "they are not read";
  } catch (const UsageError& error) {  // a UsageError: the job is not requeued
    EXPECT_THAT(error.what(), HasSubstr("valid.bin does not fit the model's vocabulary"));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_.path("run")));
  auto unread = validated("run", 4);
  unread["run"]["eval_interval"] = 0;
  train_to_the_end(unread);
  EXPECT_EQ(metrics_of(directory_.path("run")).size(), 4U);
}

// The signal arrives after the checkpoint of the step, during the validation.
TEST_F(RunEnds, ASignalBreaksOffAValidationWhichTheNextRunMakes) {
  write_valid(1);
  train_to_the_end(validated("whole", 4));
  for (const bool asynchronous : {false, true}) {
    for (const std::int64_t interval : {0, 2}) {
      auto stopped = validated("run", 4);
      stopped["checkpoint"] = {{"interval", interval}, {"async", asynchronous}};
      const auto expect_stop = [&](const char* line, std::size_t validations) {
        const SignalAtLine signal(line);
        EXPECT_EQ(signalled(stopped, 0), RunEnd::stopped);
        const auto all = lines("run");
        EXPECT_EQ(
            std::ranges::count_if(all, [](const auto& one) { return one.contains("valid_loss"); }),
            validations);
      };
      if (interval > 0) expect_stop("step-000002.h5", 0);
      expect_stop("step-000004.h5", 1);
      EXPECT_EQ(checkpoints("run").front(), "step-000004.h5");
      EXPECT_EQ(signalled(stopped, 0), RunEnd::done);
      expect_same_lines("run", "whole");
      std::filesystem::remove_all(directory_.path("run"));
    }
  }
}

TEST_F(RunEnds, ASignalInTheLastStepDoesNotWaitForItsValidation) {
  write_valid(1);
  train_to_the_end(validated("whole", 1));
  auto stopped = validated("run", 1);
  stopped["checkpoint"] = {{"at_end", false}};
  EXPECT_EQ(signalled(stopped, SIGUSR1), RunEnd::stopped);
  EXPECT_EQ(lines("run").size(), 1U);
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000001.h5"));
  EXPECT_EQ(signalled(stopped, 0), RunEnd::done);
  expect_same_lines("run", "whole");
}

// A checkpoint that is due by interval or was requested is written after the last step too.
TEST_F(RunEnds, TheLastStepsCheckpointComesAlsoWithoutAtEnd) {
  auto regular = job("run", 4);
  regular["checkpoint"] = {{"interval", 2}, {"at_end", false}};
  train_to_the_end(regular);
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000004.h5", "step-000002.h5"));
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    const std::string run = std::to_string(signal);
    auto asked = job(run, 1);
    asked["checkpoint"] = {{"at_end", false}};
    EXPECT_EQ(signalled(asked, signal), RunEnd::done);
    EXPECT_THAT(checkpoints(run), ElementsAre("step-000001.h5"));
  }
  auto neither = job("neither", 3);
  neither["checkpoint"] = {{"interval", 2}, {"at_end", false}};
  train_to_the_end(neither);
  EXPECT_THAT(checkpoints("neither"), ElementsAre("step-000002.h5"));
}

// A step whose evaluation is recorded is not evaluated again.
TEST_F(RunEnds, AnEvaluationThatIsThereIsNotMadeAgain) {
  auto json = job("run", 2);
  json["data"]["valid"] = json["data"]["train"];
  json["run"].update({{"eval_interval", 1}, {"eval_steps", 1}});
  train_to_the_end(json);
  json["run"]["steps"] = 3;
  train_to_the_end(json);
  EXPECT_EQ(lines("run").size(), 6U);
}

}  // namespace
}  // namespace triax::test
