// SPDX-License-Identifier: Apache-2.0
#include "src/commands/tokenizer/tokenizer_command.hpp"

#include <nlohmann/json.hpp>

#include "tests/commands/small_job.hpp"

namespace triax {
namespace {

using test::Outcome;
using test::outcome_of_script;
using test::shell_word;
using test::triax;
using testing::HasSubstr;

const std::string folder = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";
const std::string gpt2 = shell_word(folder + "gpt2");

TEST(TokenizerCommand, DecodesWhatItEncodes) {
  const Outcome ids = triax("tokenizer encode " + gpt2 + " 'Grüße, don'\\''t 12  <|end|>'");
  ASSERT_EQ(ids.status, 0) << ids.text;
  EXPECT_EQ(triax("tokenizer decode " + gpt2 + " " + ids.text.substr(0, ids.text.size() - 1)).text,
            "Grüße, don't 12  <|end|>");
  const std::string pipe = test::command_of("tokenizer encode " + gpt2) + " | " +
                           test::command_of("tokenizer decode " + gpt2);
  EXPECT_EQ(outcome_of_script("printf 'a b\\n' | " + pipe).text, "a b\n") << "standard input";
}

TEST(TokenizerCommand, SpecialTokensAreTakenWhenAsked) {
  const auto tokens = [](const std::string& options) {
    const Outcome outcome = triax("tokenizer encode " + gpt2 + " 'a<|end|>' --json " + options);
    return nlohmann::json::parse(outcome.text).at("tokens").dump();
  };
  EXPECT_THAT(tokens(""), testing::Not(HasSubstr("\"<|end|>\"")));
  EXPECT_THAT(tokens("--special"), HasSubstr("\"<|end|>\""));
  EXPECT_THAT(tokens("--add-special"), testing::StartsWith("[\"<s>\""));
}

TEST(TokenizerCommand, AnswersLineByLine) {
  const Outcome ids = outcome_of_script("printf '\"a\\\\nb\"\\n\"\"\\n' | " +
                                        test::command_of("tokenizer encode --jsonl " + gpt2));
  EXPECT_EQ(std::ranges::count(ids.text, '\n'), 2) << ids.text;
  EXPECT_THAT(ids.text, testing::EndsWith("\n[]\n"));
  const Outcome text = outcome_of_script("echo " + shell_word(ids.text) + " | head -1 | " +
                                         test::command_of("tokenizer decode --jsonl " + gpt2));
  EXPECT_EQ(text.text, "\"a\\nb\"\n");
}

TEST(TokenizerCommand, InspectShowsTheFile) {
  const Outcome outcome = triax("tokenizer inspect --json " + gpt2);
  const auto facts = nlohmann::json::parse(outcome.text);
  EXPECT_EQ(facts.at("format"), "tokenizer.json");
  EXPECT_EQ(facts.at("special_tokens"), 2);
  EXPECT_EQ(facts.at("put_before_a_text").size(), 1U);
  EXPECT_THAT(triax("tokenizer inspect " + gpt2).text, HasSubstr("fingerprint"));
}

TEST(TokenizerCommand, ChatRendersMessages) {
  const std::string chat = "tokenizer chat " + gpt2 + " --template " +
                           shell_word(folder + "../templates/chatml-marked.jinja") + " ";
  const std::string messages =
      R"([{"role":"user","content":"hello"},{"role":"assistant","content":"123"}])";
  const auto answer = [&](const std::string& options) {
    return outcome_of_script("echo " + shell_word(messages) + " | " +
                             test::command_of(chat + options))
        .text;
  };
  const std::string text =
      "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n123<|im_end|>\n";
  EXPECT_EQ(answer(""), text);
  EXPECT_EQ(answer("--generation-prompt"), text + "<|im_start|>assistant\n");
  const auto json = nlohmann::json::parse(answer("--json"));
  EXPECT_EQ(json.at("text"), text);
  const std::size_t at = text.find("123");
  EXPECT_EQ(json.at("generated"), (nlohmann::json{{at, at + 13}}));
  const Outcome ids = triax("tokenizer encode --special " + gpt2 + " " + shell_word(text));
  EXPECT_EQ(answer("--ids"), ids.text);
  EXPECT_THAT(outcome_of_script("echo '[{}]' | " + test::command_of("tokenizer chat " + gpt2)).text,
              HasSubstr("has no chat template"));
}

TEST(TokenizerCommand, RefusesWithTheCause) {
  for (const auto& [arguments, cause] : std::vector<std::pair<std::string, std::string>>{
           {"inspect /nowhere", "does not exist"},
           {"decode " + gpt2 + " 1 x", "\"x\" is not a token id"},
           {"decode " + gpt2 + " 99999", "99999 is not a token of this tokenizer"},
           {"encode " + gpt2 + " $'\\xff'", "not UTF-8"}}) {
    const Outcome outcome = outcome_of_script(test::command_of("tokenizer " + arguments));
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(cause));
  }
}

class Generate : public test::SmallJob {};

TEST_F(Generate, TakesTheTokenizerOfTheModel) {
  ASSERT_EQ(on_job("train").status, 0);
  const std::string generate = "generate " +
                               shell_word(directory_.path("run/checkpoints/step-000002.h5")) +
                               " --prompt hello --max-tokens 4 --tokenizer ";
  const Outcome text = triax(generate + shell_word(folder + "unigram"));
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text, HasSubstr("hello"));
  EXPECT_THAT(triax(generate + gpt2).text, HasSubstr("is not a token of the model"));
}

}  // namespace
}  // namespace triax
