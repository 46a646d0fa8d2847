// SPDX-License-Identifier: Apache-2.0
// triax batch as a user runs it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/commands/small_job.hpp"

namespace triax::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class BatchCommand : public SmallJob {
 protected:
  void SetUp() override {
    SmallJob::SetUp();
    const Outcome outcome = on_job("train", "--set checkpoint.at_end=true");
    ASSERT_EQ(outcome.status, 0) << outcome.text;
    std::string text;
    for (int i = 1; i <= 30; ++i)
      text +=
          json{{"prompt", "line " + std::to_string(i)}, {"max_tokens", 3 + i % 6}}.dump() + "\n";
    text += "{\"prompt\": 1}\n";
    text += R"({"custom_id": "s", "prompt": "line", "score": [" 1", " 2"]})";
    directory_.file("in.jsonl", text);
  }
  std::string arguments(const std::string& out, const std::string& more = {}) const {
    return "batch " + shell_word(directory_.path("in.jsonl")) + " --model " +
           shell_word(directory_.path("run/checkpoints/step-000002.h5")) + " --out " +
           shell_word(directory_.path(out)) + " " + more;
  }
  // Choices by line, of all shards.
  std::map<int, json> answers(const std::string& out) const {
    std::istringstream text(contents(directory_.path(out + "/answers-00000.jsonl")));
    std::map<int, json> all;
    for (std::string line; std::getline(text, line);) {
      const json one = json::parse(line);
      EXPECT_TRUE(all.emplace(one["line"], one["response"]["body"]["choices"]).second) << "twice";
    }
    return all;
  }
};

TEST_F(BatchCommand, AnswersTheSameOnAnyNumberOfReplicas) {
  const Outcome alone = triax(arguments("one"));
  ASSERT_EQ(alone.status, 0) << alone.text;
  EXPECT_THAT(alone.text, HasSubstr("32 lines answered in"));
  EXPECT_THAT(alone.text, HasSubstr("errors.jsonl"));
  const auto expected = answers("one");
  ASSERT_EQ(expected.size(), 31U);
  EXPECT_EQ(expected.at(32).size(), 2U) << "two scores";
  EXPECT_LT(expected.at(32)[0]["logprob"], 0);
  EXPECT_THAT(contents(directory_.path("one/errors.jsonl")),
              HasSubstr("line 31: 'prompt' must be"));
  const Outcome two = triax_on(2, arguments("two"));
  ASSERT_EQ(two.status, 0) << two.text;
  EXPECT_EQ(answers("two"), expected);
  const Outcome again = triax(arguments("two"));
  EXPECT_EQ(again.status, 0) << again.text;
  EXPECT_THAT(again.text, testing::Not(HasSubstr("tokens/s"))) << "nothing is left to do";
  const json status = json::parse(
      triax("batch --out " + shell_word(directory_.path("two")) + " --status --json").text);
  EXPECT_EQ(status["lines"], 32);
  EXPECT_EQ(status["answered"], 32);
  EXPECT_EQ(status["errors"], 1);
  EXPECT_EQ(status["complete"], true);
  EXPECT_EQ(triax(arguments("two", "--seed 5")).status, 2) << "another batch";
}

TEST_F(BatchCommand, StopsBeforeTheEndOfTheJobsTime) {
  // No line is begun whose answer might not be there in time.
  const std::string limit =
      "--set run.time_limit=1000 --set run.stop_before_end=1 --set serve.grace=2000";
  const Outcome outcome = triax(arguments("out", limit));
  ASSERT_EQ(outcome.status, 75) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("stopping by the end of the job's time"));
  EXPECT_THAT(triax("batch --out " + shell_word(directory_.path("out")) + " --status").text,
              testing::Not(HasSubstr("complete")));
  EXPECT_EQ(triax(arguments("out")).status, 0);
  EXPECT_EQ(answers("out").size(), 31U);
}

TEST_F(BatchCommand, WrongCommandLinesAreRefused) {
  const auto refused = [&](const std::string& more) {
    const Outcome outcome = triax(arguments("out", more));
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    return outcome.text;
  };
  EXPECT_THAT(refused("--part 2/2"), HasSubstr("I/N"));
  EXPECT_THAT(refused("--set serve.port=1"), HasSubstr("no such key"));
  EXPECT_THAT(refused("--json"), HasSubstr("--status"));
  const Outcome absent = triax("batch absent.jsonl --model x --out y");
  EXPECT_EQ(absent.status, 2) << absent.text;
  EXPECT_THAT(absent.text, HasSubstr("absent.jsonl"));
}

}  // namespace
}  // namespace triax::test
