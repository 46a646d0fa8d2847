// SPDX-License-Identifier: Apache-2.0
// triax generate as a user runs it, on a directory of Hugging Face's.
#include "src/commands/generate/generate_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/commands/program.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

const std::string model =
    shell_word(std::string(TRIAX_SOURCE_DIR) + "/tests/golden/evaluate/llama");

nlohmann::json json_of(const Outcome& outcome) {
  const std::size_t begin = outcome.text.find_first_of("[{");
  return nlohmann::json::parse(begin == std::string::npos ? "" : outcome.text.substr(begin),
                               nullptr, false);
}

TEST(GenerateCommand, PromptsTogetherAreThoseAlone) {
  const std::string more = " --max-tokens 12 --top-p 0.9 --json 2>/dev/null";
  const auto all =
      json_of(triax("generate " + model + " --prompt 'The ferry' --prompt Every" + more));
  ASSERT_TRUE(all.is_array()) << all;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], json_of(triax("generate " + model + " --prompt 'The ferry'" + more)));
  EXPECT_EQ(all[1], json_of(triax("generate " + model + " --prompt Every --seed 1235" + more)));
  EXPECT_EQ(all[0]["prompt"], "The ferry");
}

TEST(GenerateCommand, TextsComeInTheOrderOfThePrompts) {
  TempDirectory directory;
  std::ofstream(directory.path("prompts")) << "One\n\nTwo\n";
  const std::string options = " --max-tokens 4 --ignore-eos --temperature 0 2>/dev/null";
  const Outcome both =
      triax("generate " + model + " --prompts " + shell_word(directory.path("prompts")) + options);
  EXPECT_EQ(both.status, 0);
  EXPECT_EQ(both.text, triax("generate " + model + " --prompt One" + options).text + "\n" +
                           triax("generate " + model + " --prompt Two" + options).text);
}

TEST(GenerateCommand, GuessesChangeNoText) {
  const std::string command =
      "generate " + model + " --prompt 'The ferry the ferry' --max-tokens 20 --temperature 0 ";
  const Outcome plain = triax(command + "2>/dev/null");
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(triax(command + "--speculate ngram 2>/dev/null").text, plain.text);
  EXPECT_EQ(triax(command + "--speculate draft").status, 2);
}

// Every grid has the texts of one rank, as these are greedy.
TEST(GenerateCommand, AnyGridHasTheSameTexts) {
  const std::string command =
      "generate " + model +
      " --prompt 'The ferry' --prompt Every --prompt A --max-tokens 9 --temperature 0 --json ";
  const auto expected = json_of(triax(command + "2>/dev/null"));
  for (const std::string grid :
       {"", "--set parallel.tensor=2", "--set parallel.pipeline=2",
        "--set parallel.tensor=2 --set inference.tokens_per_step=3 --set inference.sequences=2"}) {
    const Outcome outcome = triax_on(2, command + grid + " 2>/dev/null");
    EXPECT_EQ(outcome.status, 0) << grid;
    EXPECT_EQ(json_of(outcome), expected) << grid;
  }
}

// Beyond the positions of the model the first tokens are dropped, on a grid as on one rank.
TEST(GenerateCommand, LongTextsMoveOn) {
  const std::string command =
      "generate " + model + " --prompt Every --max-tokens 80 --ignore-eos --temperature 0 --json";
  const Outcome alone = triax(command);
  EXPECT_THAT(alone.text, HasSubstr("it sees only the last 64"));
  const auto expected = json_of(alone);
  EXPECT_EQ(expected["tokens"].size(), 80U);
  EXPECT_EQ(json_of(triax_on(2, command + " --set parallel.tensor=2 2>/dev/null")), expected);
}

// A folder in bf16 is held in bf16, with the texts and scores of float32.
TEST(GenerateCommand, WeightsAreHeldAsInTheFiles) {
  TempDirectory directory;
  const std::string file = shell_word(directory.path("model.h5")),
                    folder = shell_word(directory.path("bf16"));
  ASSERT_EQ(triax("checkpoint import " + model + " --out " + file).status, 0);
  ASSERT_EQ(
      triax("checkpoint export " + file + " --to huggingface " + folder + " --dtype bf16").status,
      0);
  const std::string command = "generate " + folder +
                              " --prompt 'The ferry' --prompt Every --max-tokens 9 --json --set "
                              "inference.weights=";
  const Outcome own = triax(command + "auto");
  EXPECT_THAT(own.text, HasSubstr("weights in memory: bf16, as in the files"));
  const Outcome wide = triax(command + "f32");
  EXPECT_THAT(wide.text, testing::Not(HasSubstr("weights in memory")));
  EXPECT_EQ(json_of(own).size(), 2U);
  EXPECT_EQ(json_of(own), json_of(wide));
  EXPECT_EQ(triax_on(2, command + "auto --set parallel.pipeline=2 2>/dev/null").text,
            triax_on(2, command + "f32 --set parallel.pipeline=2 2>/dev/null").text);
  const std::string of_bf16 = shell_word(directory.path("bf16.h5"));
  ASSERT_EQ(triax("checkpoint import " + folder + " --out " + of_bf16).status, 0);
  EXPECT_THAT(triax("generate " + of_bf16 + " --prompt a --max-tokens 2").text,
              HasSubstr("bf16, as in the files"));
  EXPECT_THAT(triax(command + "int8").text, HasSubstr("int8 for the linear maps of blocks, bf16"));
  EXPECT_THAT(
      triax("generate " + file + " --prompt a --max-tokens 2 --set inference.weights=bf16").text,
      HasSubstr("bf16, rounded from f32"));
  const Outcome refused = triax("generate " + file + " --prompt a --set inference.weights=nf4");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.text, HasSubstr("triax checkpoint export"));

  const std::string evaluate =
      "evaluate " + folder + " --data " +
      shell_word(std::string(TRIAX_SOURCE_DIR) + "/tests/golden/evaluate/llama/documents.jsonl");
  const Outcome scored = triax(evaluate + " 2>/dev/null");
  EXPECT_EQ(scored.status, 0);
  EXPECT_THAT(scored.text, HasSubstr("word_perplexity"));
  EXPECT_EQ(triax(evaluate + " --set inference.weights=bf16 2>/dev/null").text, scored.text);
  EXPECT_THAT(triax(evaluate + " --set inference.weight=bf16").text,
              HasSubstr("nearest: inference.weights"));
}

TEST(GenerateCommand, OptionsAreChecked) {
  const auto refused = [](const std::string& options, const char* text) {
    const Outcome outcome = triax("generate " + model + " " + options);
    EXPECT_EQ(outcome.status, 2) << options;
    EXPECT_THAT(outcome.text, HasSubstr(text));
  };
  refused("", "there is no prompt");
  refused("--prompt a --prompt ''", "the prompt is empty");
  refused("--prompts none", "cannot open none");
  refused("--prompt a --top-p 0", "--top-p");
  refused("--prompt a --set inference.block_tokens=24", "16, 32, 64 or 128");
  refused("--prompt a --set inference.sequence=2", "inference.sequences");
  refused("--prompt a --set inference.weights=int4", "\"nf4-double\", \"int8\"");
  refused("--prompt a --set paralel.tensor=2", "parallel.tensor");
}

}  // namespace
}  // namespace triax::test
