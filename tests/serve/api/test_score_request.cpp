// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/score_request.hpp"

#include <gtest/gtest.h>

#include "src/serve/api/api_error.hpp"
#include "tests/serve/fake_engine.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;

TEST(ScoreRequest, EachAnswerFollowsThePrompt) {
  const json body = {{"prompt", "ab"}, {"score", {"x", "yz"}}};
  ASSERT_TRUE(asks_for_scores(body));
  const ScoreCall scores = read_scores(body, byte_model(), false);
  EXPECT_EQ(scores.call.prompts, (std::vector{bytes_of("abx"), bytes_of("abyz")}));
  EXPECT_EQ(scores.answered, (std::vector<std::size_t>{2, 2}));
  EXPECT_EQ(scores.call.options.max_tokens, 0);
  EXPECT_TRUE(scores.call.options.echo);
}

TEST(ScoreRequest, TheAnswerMayBeTheAssistants) {
  const json body = {{"messages", {{{"role", "user"}, {"content", "hi"}}}}, {"score", "yes"}};
  const ScoreCall scores = read_scores(body, byte_model(), true);
  EXPECT_EQ(scores.call.prompts, (std::vector<std::vector<std::int32_t>>{bytes_of("hiyes")}));
  EXPECT_EQ(scores.answered, (std::vector<std::size_t>{2}));
}

TEST(ScoreRequest, RefusalsNameTheField) {
  const auto param = [](json body) {
    try {
      read_scores(body, byte_model(), false);
    } catch (const ApiError& error) {
      return error.param();
    }
    return std::string("none");
  };
  EXPECT_FALSE(asks_for_scores({{"prompt", "a"}, {"score", nullptr}}));
  EXPECT_EQ(param({{"prompt", "a"}, {"score", json::array()}}), "score");
  EXPECT_EQ(param({{"prompt", "a"}, {"score", 1}}), "score");
  EXPECT_EQ(param({{"prompt", "a"}, {"score", {""}}}), "score");
  EXPECT_EQ(param({{"prompt", ""}, {"score", "a"}}), "prompt") << "bytes have no BOS";
  EXPECT_EQ(param({{"prompt", "a"}, {"score", "a"}, {"n", 2}}), "n");
  EXPECT_EQ(param({{"prompt", "a"}, {"score", "a"}, {"stream", true}}), "stream");
  EXPECT_EQ(param({{"prompt", "a"}, {"score", std::string(64, 'b')}}), "prompt");
}

}  // namespace
}  // namespace triax::test
