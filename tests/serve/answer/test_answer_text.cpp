// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/answer_text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/serve/fake_engine.hpp"

namespace triax::test {
namespace {

GenerationOutput output_of(const std::string& bytes, std::optional<FinishReason> finished = {}) {
  GenerationOutput output;
  for (const std::int32_t token : bytes_of(bytes))
    output.tokens.push_back({.token = token, .log_probability = -1, .alternatives = {}});
  output.finished = finished;
  return output;
}

// The whole answer to outputs that cut `bytes` anywhere.
AnswerDelta joined(const GenerationOptions& options, const std::string& bytes, unsigned seed) {
  const ServedModel model = byte_model();
  const std::vector<std::int32_t> prompt = bytes_of("prompt");
  AnswerText answer(model, options, prompt);
  std::mt19937 random(seed);
  AnswerDelta all;
  for (std::size_t at = 0; at < bytes.size() && !answer.finished();) {
    const std::size_t size = 1 + random() % 4;
    all.append(answer.add(output_of(bytes.substr(at, size))));
    at += size;
  }
  all.append(answer.add(output_of({}, FinishReason::length)));
  return all;
}

TEST(AnswerText, IsTheSameHoweverItIsCut) {
  GenerationOptions options;
  options.stops = {"\u017dlut\u00fd", "END"};
  for (unsigned seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(
        joined(options, "k\u016f\u0148 \u4e2d\u6587 \U0001F469\u200d\U0001F467 E EN", seed).text,
        "k\u016f\u0148 \u4e2d\u6587 \U0001F469\u200d\U0001F467 E EN");
    const AnswerDelta stopped = joined(options, "a\u017dl \u017dlut\u00fd b END", seed);
    EXPECT_EQ(stopped.text, "a\u017dl ");
    EXPECT_EQ(stopped.stop, "\u017dlut\u00fd");
    EXPECT_EQ(stopped.finished, FinishReason::stop);
  }
}

TEST(AnswerText, BytesThatAreNoCharacterAreReplacedAtOnce) {
  const ServedModel model = byte_model();
  const std::vector<std::int32_t> prompt = bytes_of("p");
  const GenerationOptions options;
  AnswerText answer(model, options, prompt);
  EXPECT_EQ(answer.add(output_of("\xff")).text, "\uFFFD");
  EXPECT_EQ(answer.add(output_of("\xc4")).text, "");
  EXPECT_EQ(answer.add(output_of("\x8d")).text, "\u010d");
  EXPECT_EQ(answer.add(output_of("\xe2\x82")).text, "");
  EXPECT_EQ(answer.add(output_of({}, FinishReason::length)).text, "\uFFFD\uFFFD");
}

TEST(AnswerText, EndsAtAnEndTokenWhichIsCountedAndNotShown) {
  GenerationOptions options;
  options.end_tokens = {'!'};
  options.log_probabilities = 0;
  const ServedModel model = byte_model();
  const std::vector<std::int32_t> prompt = bytes_of("p");
  AnswerText answer(model, options, prompt);
  const AnswerDelta delta = answer.add(output_of("ab!c"));
  EXPECT_EQ(delta.text, "ab");
  EXPECT_EQ(delta.finished, FinishReason::stop);
  EXPECT_EQ(delta.tokens.size(), 2U);
  EXPECT_EQ(answer.tokens(), 3);
  EXPECT_TRUE(answer.add(output_of("d")).empty());
}

TEST(AnswerText, TheStopTextMayBeShown) {
  GenerationOptions options;
  options.stops = {"cd"};
  options.include_stop = true;
  EXPECT_EQ(joined(options, "abcdef", 1).text, "abcd");
}

// The bytes of all tokens are those of the text, also where a stop text has cut it.
TEST(AnswerText, TokensGoWithTheirText) {
  GenerationOptions options;
  options.log_probabilities = 0;
  options.stops = {"STOP"};
  for (unsigned seed = 0; seed < 50; ++seed)
    for (const std::string& tail : {std::string("STOP more"), std::string("ST")}) {
      const AnswerDelta all = joined(options, "x\u010d\U0001F600y" + tail, seed);
      std::string bytes;
      for (const AnswerToken& token : all.tokens) bytes += token.bytes;
      EXPECT_EQ(bytes, all.text);
      EXPECT_EQ(all.tokens.back().offset, tail == "ST" ? 5U : 3U);
    }
}

TEST(AnswerText, AnEchoBeginsWithThePromptWhichHasNoStop) {
  GenerationOptions options;
  options.echo = true;
  options.log_probabilities = 0;
  options.stops = {"p"};
  const ServedModel model = byte_model();
  const std::vector<std::int32_t> prompt = bytes_of("pq");
  AnswerText answer(model, options, prompt);
  GenerationOutput output = output_of("ap");
  output.prompt = {{.token = 'q', .log_probability = -3, .alternatives = {}}};
  const AnswerDelta delta = answer.add(output);
  EXPECT_EQ(delta.text, "pqa");
  ASSERT_EQ(delta.tokens.size(), 3U);
  EXPECT_FALSE(delta.tokens[0].log_probability.has_value());
  EXPECT_EQ(delta.tokens[1].log_probability, -3.0F);
  EXPECT_EQ(delta.tokens[2].offset, 2U);
}

TEST(AnswerText, CallsAreNotText) {
  GenerationOptions options;
  options.tools = {tool_form_of("<tool_call>"), {"f"}};
  const std::string call = "<tool_call>{\"name\":\"f\"}</tool_call>";
  for (unsigned seed = 0; seed < 50; ++seed) {
    const AnswerDelta all = joined(options, "Well. " + call + "\n" + call, seed);
    EXPECT_EQ(all.text, "Well.");
    ASSERT_EQ(all.calls.size(), 2U);
    EXPECT_EQ(all.calls[1].index, 1U);
    EXPECT_TRUE(all.called);
    EXPECT_EQ(joined(options, "Well. " + call.substr(0, 20), seed).text,
              "Well. " + call.substr(0, 20));
  }
}

}  // namespace
}  // namespace triax::test
