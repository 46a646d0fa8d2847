// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/generation_options.hpp"

#include <gtest/gtest.h>

#include "src/serve/api/api_error.hpp"
#include "src/serve/api/completion_request.hpp"
#include "src/serve/api/token_requests.hpp"
#include "src/text/open_tokenizer.hpp"
#include "tests/serve/fake_engine.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;

GenerationOptions options_of(const char* body, const ServedModel& model = byte_model()) {
  return read_completion(json::parse(body), model).options;
}

TEST(GenerationOptions, DefaultsAreOpenAIs) {
  const GenerationOptions options = options_of(R"({"prompt": "a"})");
  EXPECT_EQ(options.choice.temperature, 1.0);
  EXPECT_EQ(options.max_tokens, 16);
  EXPECT_EQ(options.answers, 1);
  EXPECT_EQ(options.log_probabilities, -1);
  EXPECT_EQ(options.end_tokens, (std::vector<std::int32_t>{0}));
  EXPECT_NE(options.choice.seed, options_of(R"({"prompt": "a"})").choice.seed) << "drawn";
}

TEST(GenerationOptions, TheModelsOwnSamplingComesBeforeOpenAIs) {
  ServedModel model = byte_model();
  model.choice.temperature = 0.6;
  model.choice.top_k = 20;
  const GenerationOptions options = options_of(R"({"prompt": "a", "top_k": -1})", model);
  EXPECT_EQ(options.choice.temperature, 0.6);
  EXPECT_EQ(options.choice.top_k, 0);
}

TEST(GenerationOptions, AreRead) {
  const GenerationOptions options = options_of(
      R"({"prompt": "a", "temperature": 0, "top_p": 0.5, "min_p": 0.1, "seed": -1, "stop": "x",
          "presence_penalty": -2, "frequency_penalty": 2, "repetition_penalty": 1.1, "n": 2,
          "logit_bias": {"65": -100}, "ignore_eos": true, "stop_token_ids": [9], "logprobs": true,
          "min_tokens": 3, "stream": true, "stream_options": {"include_usage": true}})");
  EXPECT_EQ(options.choice.temperature, 0);
  EXPECT_EQ(options.choice.top_p, 0.5);
  EXPECT_EQ(options.choice.seed, UINT64_MAX);
  EXPECT_EQ(options.choice.logit_bias.at(0), (std::pair{std::int32_t{65}, -100.0F}));
  EXPECT_EQ(options.end_tokens, (std::vector<std::int32_t>{9}));
  EXPECT_EQ(options.log_probabilities, 1);
  EXPECT_EQ(options.min_tokens, 3);
  EXPECT_EQ(options.answers, 2);
  EXPECT_TRUE(options.stream && options.usage);
}

TEST(CompletionRequest, PromptsHaveFourForms) {
  const ServedModel model = byte_model();
  const auto prompts = [&](const char* prompt) {
    return read_completion({{"prompt", json::parse(prompt)}}, model).prompts;
  };
  using Prompts = std::vector<std::vector<std::int32_t>>;
  EXPECT_EQ(prompts(R"("AB")"), (Prompts{{65, 66}}));
  EXPECT_EQ(prompts(R"(["A", "B"])"), (Prompts{{65}, {66}}));
  EXPECT_EQ(prompts("[65, 66]"), (Prompts{{65, 66}}));
  EXPECT_EQ(prompts("[[65], [66, 67]]"), (Prompts{{65}, {66, 67}}));
  for (const char* wrong : {"[]", "[[]]", "{}", "[{}]", "[65, \"A\"]", "1.5", "[true]"})
    EXPECT_THROW(prompts(wrong), ApiError) << wrong;
}

TEST(CompletionRequest, PromptsMayBeCutFromTheirBeginning) {
  const ServedModel model = byte_model();
  const json body = {{"prompt", std::string(100, 'a') + "bc"}, {"truncate_prompt_tokens", 3}};
  EXPECT_EQ(read_completion(body, model).prompts.at(0), bytes_of("abc"));
}

// Llama-2's tokenizer puts <s> before a text.
TEST(Encode, BeginsATextOnce) {
  ServedModel model = byte_model();
  model.tokenizer =
      open_tokenizer(std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/llama2");
  model.vocabulary = model.tokenizer->vocabulary();
  const std::int32_t begin = model.tokenizer->id_of("<s>").value();
  const auto plain = encode(model, "Hello", true);
  EXPECT_EQ(plain.front(), begin);
  EXPECT_NE(encode(model, "Hello", false).front(), begin);
  const auto named = encode(model, "<s>Hello", true);
  EXPECT_EQ(named.front(), begin);
  EXPECT_NE(named.at(1), begin);
}

TEST(TokenRequests, Count) {
  const ServedModel model = byte_model();
  EXPECT_EQ(tokenize_reply({{"prompt", "ab"}}, model)["max_model_len"], FakeEngine::most);
  EXPECT_THROW(tokenize_reply({{"model", "bytes"}}, model), ApiError);
  EXPECT_THROW(detokenize_reply({{"tokens", "x"}}, model), ApiError);
}

}  // namespace
}  // namespace triax::test
