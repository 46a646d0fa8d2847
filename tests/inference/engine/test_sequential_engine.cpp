// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/sequential_engine.hpp"

#include <cmath>
#include <map>
#include <numeric>

#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// A small model with random weights.
class SequentialEngineTest : public testing::Test {
 protected:
  SequentialEngineTest() {
    nlohmann::json job = {
        {"model",
         {{"architecture", "gpt2"},
          {"n_layer", 1},
          {"n_head", 2},
          {"n_embd", 16},
          {"n_positions", 32},
          {"vocab_size", 256}}},
        {"data", {{"train", directory_.file("text.txt", std::string(400, 'a'))}}},
        {"run", {{"directory", directory_.path("run")}, {"steps", 1}, {"progress", "none"}}},
        {"checkpoint", {{"at_end", true}}},
        {"train_batch_size", 1}};
    train_to_the_end(job);
    generator_.emplace(CheckpointReader(directory_.path("run/checkpoints/step-000001.h5")), 32);
  }

  static GenerationRequest request(std::uint64_t id, std::int64_t tokens) {
    GenerationRequest request;
    request.id = id;
    request.prompt = {1, 2, 3};
    request.max_tokens = tokens;
    request.choice.seed = 5;
    return request;
  }
  // All that the engine puts out, by request.
  static std::map<std::uint64_t, GenerationOutput> run(Engine& engine) {
    std::map<std::uint64_t, GenerationOutput> all;
    while (engine.state().running > 0)
      for (GenerationOutput& output : engine.step()) {
        GenerationOutput& whole = all[output.id];
        whole.tokens.insert(whole.tokens.end(), output.tokens.begin(), output.tokens.end());
        if (!output.prompt.empty()) whole.prompt = output.prompt;
        whole.finished = output.finished;
      }
    return all;
  }

  TempDirectory directory_;
  std::optional<Generator> generator_;
};

TEST_F(SequentialEngineTest, AnswersInOrderAndTheSameInAnyCompany) {
  SequentialEngine engine(*generator_);
  for (std::uint64_t id : {1, 2, 3}) engine.submit(request(id, id == 2 ? 100 : 7));
  EXPECT_EQ(engine.state().waiting, 2);
  const auto all = run(engine);
  const auto tokens = [&](std::uint64_t id) {
    std::vector<std::int32_t> found;
    for (const TokenLikelihood& token : all.at(id).tokens) found.push_back(token.token);
    return found;
  };
  EXPECT_EQ(tokens(1).size(), 7U);
  EXPECT_EQ(tokens(2).size(), 29U) << "to the end of the context";
  EXPECT_EQ(tokens(1), tokens(3));
  EXPECT_EQ(all.at(2).finished, FinishReason::length);
}

TEST_F(SequentialEngineTest, LikelihoodsAreThoseOfTheModel) {
  SequentialEngine engine(*generator_);
  GenerationRequest scored = request(1, 1);
  scored.prompt_log_probabilities = true;
  scored.log_probabilities = 256;
  scored.choice.temperature = 0;
  engine.submit(scored);
  const GenerationOutput output = run(engine).at(1);
  ASSERT_EQ(output.prompt.size(), 2U);
  EXPECT_EQ(output.prompt[0].token, 2);
  const TokenLikelihood& last = output.tokens.at(0);
  EXPECT_EQ(last.token, last.alternatives.front().first);
  EXPECT_EQ(last.log_probability, last.alternatives.front().second);
  double total = 0;
  for (const auto& [token, log_probability] : last.alternatives) total += std::exp(log_probability);
  EXPECT_NEAR(total, 1, 1e-5);
  // Whole passes over the text give the same.
  const std::vector<float> logits = generator_->logits({1});
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit);
  EXPECT_NEAR(output.prompt[0].log_probability, logits[2] - std::log(sum), 1e-4);
}

TEST_F(SequentialEngineTest, EndTokensAndTheLeastNumberOfTokens) {
  SequentialEngine engine(*generator_);
  GenerationRequest ended = request(1, 20);
  ended.end_tokens.resize(256);
  std::iota(ended.end_tokens.begin(), ended.end_tokens.end(), 0);
  engine.submit(ended);
  EXPECT_EQ(run(engine).at(1).tokens.size(), 1U);
  ended.end_tokens = {run(engine).empty() ? 0 : 1};
  ended.min_tokens = 10;
  engine.submit(ended);
  EXPECT_GE(run(engine).at(1).tokens.size(), 10U);
}

TEST_F(SequentialEngineTest, CancelledRequestsAreGone) {
  SequentialEngine engine(*generator_);
  engine.submit(request(1, 20));
  engine.submit(request(2, 3));
  engine.step();
  engine.cancel(1);
  engine.cancel(99);
  const auto all = run(engine);
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(all.at(2).tokens.size(), 3U);
  GenerationRequest huge = request(3, 1);
  huge.prompt.resize(33);
  EXPECT_THROW(engine.submit(huge), UsageError);
}

TEST_F(SequentialEngineTest, AnswersHaveTheirForm) {
  const auto bytes = [] {
    std::vector<std::string> all;
    for (int token = 0; token < 256; ++token) all.emplace_back(1, static_cast<char>(token));
    return all;
  };
  SequentialEngine engine(*generator_, bytes);
  GenerationRequest formed = request(1, 20);
  formed.constraint = {.kind = ConstraintSpec::Kind::json_schema,
                       .text = R"({"properties": {"a": {"const": 1}}, "required": ["a"],
                                   "additionalProperties": false})"};
  formed.choice.logit_bias = {{' ', -100.0F}, {'\n', -100.0F}};
  formed.choice.temperature = 0;
  engine.submit(formed);
  engine.submit(request(2, 5));
  auto all = run(engine);
  std::string text;
  for (const TokenLikelihood& token : all.at(1).tokens) text += static_cast<char>(token.token);
  EXPECT_EQ(text, R"({"a":1})");
  EXPECT_EQ(all.at(1).finished, FinishReason::stop);
  EXPECT_EQ(all.at(2).tokens.size(), 5U);
}

}  // namespace
}  // namespace triax::test
