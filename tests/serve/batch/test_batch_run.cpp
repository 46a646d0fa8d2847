// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch_run.hpp"

#include <algorithm>

#include "tests/io/fixtures.hpp"
#include "tests/serve/fake_engine.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;
using Next = BatchRun::Next;
using testing::HasSubstr;

class Batch : public testing::Test {
 protected:
  // Runs until `steps` steps are done, or to the end.
  bool run(const std::string& input, int steps = 1000, BatchOptions options = {.most_open = 3},
           Next then = Next::leave) {
    const ServedModel model = byte_model();
    FakeEngine engine;
    LineReader reader(open_plain(directory_.file("in.jsonl", input), 0), 0);
    AnswerFiles files(directory_.path());
    BatchRun batch(model, engine, reader, files, options);
    const bool done = batch.run([&] { return steps-- > 0 ? Next::go_on : then; });
    cancelled_ = engine.cancelled;
    return done;
  }
  // Lines of a file, sorted by the line of the input.
  std::vector<json> lines(const std::string& file) const {
    std::istringstream text(contents(directory_.path(file)));
    std::vector<json> all;
    for (std::string line; std::getline(text, line);) all.push_back(json::parse(line));
    std::ranges::sort(all, {}, [](const json& one) { return one["line"].get<int>(); });
    return all;
  }
  std::vector<json> answers() const { return lines("answers-00000.jsonl"); }

  TempDirectory directory_;
  int cancelled_ = 0;
};

std::string prompts(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i)
    text += json{{"prompt", "text " + std::to_string(i)}, {"max_tokens", 3 + i % 5}}.dump() + "\n";
  return text;
}

TEST_F(Batch, AnswersEachLine) {
  EXPECT_TRUE(run(R"({"prompt": "abc", "max_tokens": 5, "n": 2})"
                  "\n\n"
                  R"({"messages": [{"role": "user", "content": "xy"}], "max_tokens": 3})"));
  const auto all = answers();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["response"]["body"]["choices"][1]["text"], "abcab") << all[0];
  EXPECT_EQ(all[0]["response"]["body"]["object"], "text_completion");
  EXPECT_EQ(all[0]["response"]["body"]["usage"]["completion_tokens"], 10);
  EXPECT_EQ(all[1]["line"], 3);
  EXPECT_EQ(all[1]["custom_id"], "line-3");
  EXPECT_EQ(all[1]["response"]["body"]["choices"][0]["message"]["content"], "xyx");
}

TEST_F(Batch, WrongLinesAreAnsweredInTheErrorsFile) {
  EXPECT_TRUE(
      run("no JSON\n"
          R"({"prompt": "abc"})"
          "\n"
          R"({"custom_id": "q", "prompt": "a", "temperature": 9})"
          "\n"
          R"({"prompt": "!fails", "n": 2})"
          "\n"
          R"({"prompt": "a", "model": "other"})"));
  EXPECT_EQ(answers().size(), 1U);
  const auto errors = lines("errors.jsonl");
  ASSERT_EQ(errors.size(), 4U);
  EXPECT_THAT(errors[0]["error"]["message"].get<std::string>(), HasSubstr("line 1: the body"));
  EXPECT_EQ(errors[1]["custom_id"], "q");
  EXPECT_EQ(errors[1]["response"]["body"]["error"]["param"], "temperature");
  EXPECT_EQ(errors[2]["response"]["status_code"], 500);
  EXPECT_EQ(errors[3]["response"]["status_code"], 404);
  EXPECT_TRUE(run("", 1)) << "all of them are answered";
}

// Wherever it is cut, it repeats nothing, loses nothing, and gives the same answers.
TEST_F(Batch, GoesOnAfterAnyCut) {
  const std::string input = prompts(20);
  ASSERT_TRUE(run(input));
  const auto expected = answers();
  ASSERT_EQ(expected.size(), 20U);
  for (int cut = 1; cut < 12; ++cut) {
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directory(directory_.path());
    int parts = 1;
    for (std::size_t before = 0; !run(input, cut, {.most_open = 4}, Next::finish_open); ++parts) {
      ASSERT_GT(answers().size(), before) << "no part is in vain";
      before = answers().size();
      EXPECT_EQ(cancelled_, 0) << "open answers are finished";
    }
    EXPECT_EQ(answers(), expected) << "cut after " << cut << " steps, " << parts << " parts";
  }
}

TEST_F(Batch, LeavesAtOnceIfItMust) {
  EXPECT_FALSE(run(prompts(20), 4));
  const auto before = answers().size();
  EXPECT_LT(before, 20U);
  EXPECT_TRUE(run(prompts(20)));
  EXPECT_EQ(answers().size(), 20U);
}

TEST_F(Batch, PartsShareTheLines) {
  const std::string input = prompts(10);
  EXPECT_TRUE(run(input, 1000, {.part = {1, 3}}));
  std::vector<int> numbers;
  for (const json& one : answers()) numbers.push_back(one["line"]);
  EXPECT_EQ(numbers, (std::vector{2, 5, 8}));
  EXPECT_TRUE(run(input, 1000, {.part = {0, 3}}));
  EXPECT_TRUE(run(input, 1000, {.part = {2, 3}}));
  EXPECT_EQ(answers().size(), 10U);
}

}  // namespace
}  // namespace triax::test
