// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/request_message.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace triax {
namespace {

TEST(RequestMessage, HoldsARequest) {
  GenerationRequest request{.id = std::numeric_limits<std::uint64_t>::max(), .prompt = {1, 2}};
  request.choice = {.temperature = 0.1,
                    .top_k = 3,
                    .top_p = 0.7,
                    .min_p = 0.2,
                    .repetition_penalty = 1.1,
                    .presence_penalty = -1.0,
                    .frequency_penalty = 0.3,
                    .logit_bias = {{4, -100.0F}},
                    .seed = 1U,
                    .tokens = 77};
  request.max_tokens = 9;
  request.min_tokens = 2;
  request.end_tokens = {5, 6};
  request.log_probabilities = 4;
  request.prompt_log_probabilities = true;
  request.constraint = {
      .kind = ConstraintSpec::Kind::regex, .text = "a|\u017e", .before = "(", .after = ")"};
  const auto message = packed(json_of(request));
  EXPECT_EQ(json_of(request_of(unpacked(message))), json_of(request));
  EXPECT_EQ(request_of(unpacked(message)).choice.temperature, 0.1);
  EXPECT_EQ(request_of(unpacked(message)).id, request.id);
  EXPECT_EQ(request_of(unpacked(message)).constraint, request.constraint);
  request.pooling = Pooling::last;
  EXPECT_EQ(request_of(unpacked(packed(json_of(request)))).pooling, Pooling::last);
}

TEST(RequestMessage, HoldsAnOutput) {
  GenerationOutput output{.id = 3};
  const float lowest = -std::numeric_limits<float>::infinity();
  output.tokens = {{7, 0.1F, {{1, -0.3F}, {2, lowest}}}};
  output.prompt = {{8, lowest, {}}};
  const GenerationOutput found = output_of(unpacked(packed(json_of(output))));
  EXPECT_EQ(found.id, 3U);
  EXPECT_FALSE(found.finished);
  EXPECT_EQ(found.tokens[0].alternatives, output.tokens[0].alternatives);
  EXPECT_EQ(found.tokens[0].log_probability, 0.1F);
  EXPECT_EQ(found.prompt[0].log_probability, lowest);
  output.embedding = {0.1F, lowest};
  EXPECT_EQ(output_of(unpacked(packed(json_of(output)))).embedding, output.embedding);
  output.finished = FinishReason::error;
  output.error = "why";
  EXPECT_EQ(output_of(json_of(output)).finished, FinishReason::error);
  EXPECT_EQ(output_of(json_of(output)).error, "why");
}

TEST(RequestMessage, HoldsAState) {
  const EngineState state{.waiting = 1, .running = 2, .steps = 3, .free_cache_blocks = 9};
  EXPECT_EQ(json_of(state_of(json_of(state))), json_of(state));
  EXPECT_EQ(state_of(json_of(state)).free_cache_blocks, 9);
}

}  // namespace
}  // namespace triax
