// SPDX-License-Identifier: Apache-2.0
// Validations that a run which ends does not make, or not make again.
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>

#include "tests/io/token_fixtures.hpp"
#include "tests/trainer/run_ends.hpp"

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

class ValidationAtEnd : public RunEnds {
 protected:
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
};

TEST_F(ValidationAtEnd, AStopDoesNotWaitForAnEvaluationWhichTheNextRunMakes) {
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

TEST_F(ValidationAtEnd, AValidationThatFailsLeavesTheCheckpointOfItsStep) {
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

TEST_F(ValidationAtEnd, DataOfAnotherTokenizerAreRefusedBeforeTheFirstStep) {
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
TEST_F(ValidationAtEnd, ASignalBreaksOffAValidationWhichTheNextRunMakes) {
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

TEST_F(ValidationAtEnd, ASignalInTheLastStepDoesNotWaitForItsValidation) {
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

// A step whose evaluation is recorded is not evaluated again.
TEST_F(ValidationAtEnd, AnEvaluationThatIsThereIsNotMadeAgain) {
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
