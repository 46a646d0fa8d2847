// SPDX-License-Identifier: Apache-2.0
// Single requests to a paged engine: how they end, what they score, which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/inference/engine/engine_model.hpp"

namespace triax::test {
namespace {

class EngineCalls : public testing::Test {
 protected:
  EngineModel own_{"llama-odd", 64};
  OwnEngine engine_{own_.model(), {}};
  GenerationRequest request_{.id = 1, .prompt = {1, 2, 3}};
};

TEST_F(EngineCalls, EndTokensEndAndAreTheLast) {
  request_.choice.temperature = 0.0;
  const auto free = answers_of(engine_.engine, {request_})[1].ids();
  request_.end_tokens = {free[2]};
  const Answer ended = answers_of(engine_.engine, {request_})[1];
  EXPECT_EQ(ended.finished, FinishReason::stop);
  const auto first = std::ranges::find(free, free[2]);
  EXPECT_EQ(ended.ids(), std::vector(free.begin(), first + 1));
  request_.min_tokens = 6;
  const auto longer = answers_of(engine_.engine, {request_})[1].ids();
  EXPECT_GE(longer.size(), 6U);
  for (int i = 0; i < 5; ++i) EXPECT_NE(longer[static_cast<std::size_t>(i)], free[2]);
}

// The likelihoods of a prompt are those of its tokens after an earlier beginning.
TEST_F(EngineCalls, ScoresPrompts) {
  request_.prompt = some_tokens(40, own_.model().model().vocabulary, 3);
  request_.prompt_log_probabilities = true;
  request_.log_probabilities = 3;
  request_.max_tokens = 0;
  const Answer scored = answers_of(engine_.engine, {request_})[1];
  EXPECT_EQ(scored.finished, FinishReason::length);
  EXPECT_TRUE(scored.tokens.empty());
  ASSERT_EQ(scored.prompt.size(), 39U);
  for (const std::int64_t length : {1, 16, 39}) {
    GenerationRequest begun{.id = 2};
    begun.prompt.assign(request_.prompt.begin(), request_.prompt.begin() + length);
    begun.max_tokens = 1;
    begun.log_probabilities = 3;
    begun.choice.temperature = 0.0;
    const TokenLikelihood next = answers_of(engine_.engine, {begun})[2].tokens[0];
    EXPECT_EQ(next.alternatives, scored.prompt[static_cast<std::size_t>(length - 1)].alternatives);
    EXPECT_EQ(next.alternatives[0].first, next.token);
    EXPECT_EQ(next.alternatives[0].second, next.log_probability);
  }
}

// Neither answers nor scores of prompts are of weights that are not finite.
TEST(EngineOfBrokenWeights, SaysSo) {
  EngineModel broken("llama-odd", 64, MPI_COMM_SELF, {},
                     [](const Stream& stream, ParameterStore& store) {
                       store.visit_weights(stream, 0, Access::update, [](const BlockView& weights) {
                         std::ranges::fill_n(weights.data.as<float>(), weights.data.elements(),
                                             std::numeric_limits<float>::quiet_NaN());
                       });
                     });
  OwnEngine engine{broken.model(), {}};
  GenerationRequest answer{.id = 1, .prompt = {1, 2, 3}}, score{.id = 2, .prompt = {4, 5, 6}};
  answer.max_tokens = 4;
  score.max_tokens = 0;
  score.prompt_log_probabilities = true;
  for (const auto& [id, found] : answers_of(engine.engine, {answer, score})) {
    EXPECT_EQ(found.finished, FinishReason::error) << id;
    EXPECT_THAT(found.error, testing::HasSubstr("not finite")) << id;
    EXPECT_TRUE(found.prompt.empty()) << id;
  }
  EXPECT_EQ(engine.engine.state().free_cache_blocks, engine.engine.state().cache_blocks);
}

TEST_F(EngineCalls, ThePrefixCacheSavesWork) {
  request_.prompt = some_tokens(36, own_.model().model().vocabulary, 3);
  answers_of(engine_.engine, {request_});
  EXPECT_EQ(engine_.engine.state().prefix_hit_tokens, 0);
  answers_of(engine_.engine, {request_});
  EXPECT_EQ(engine_.engine.state().prefix_hit_tokens, 32);
}

TEST_F(EngineCalls, RefusesWhatCanNeverBeServed) {
  const auto refused = [&](auto change) {
    GenerationRequest request = request_;
    change(request);
    EXPECT_THROW(engine_.engine.submit(request), UsageError);
  };
  refused([](auto& r) { r.prompt.clear(); });
  refused([](auto& r) { r.prompt.assign(40, 1); });
  refused([](auto& r) { r.prompt = {100000}; });
  refused([](auto& r) { r.prompt = {-1}; });
  refused([](auto& r) { r.end_tokens = {100000}; });
  refused([](auto& r) { r.choice.top_p = 0.0; });
  refused([](auto& r) { r.choice.logit_bias = {{100000, 1.0F}}; });
  refused([](auto& r) { r.max_tokens = -1; });
  engine_.engine.submit(request_);
  EXPECT_THROW(engine_.engine.submit(request_), UsageError) << "the same number twice";
  EXPECT_EQ(engine_.engine.state().waiting, 1);
}

}  // namespace
}  // namespace triax::test
