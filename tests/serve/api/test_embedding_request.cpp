// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/embedding_request.hpp"

#include <gtest/gtest.h>

#include "src/serve/api/api_error.hpp"
#include "tests/serve/fake_engine.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;

TEST(EmbeddingRequest, InputIsTextsOrTokens) {
  const auto prompts = [](const json& input) {
    return read_embeddings({{"input", input}}, byte_model()).call.prompts;
  };
  EXPECT_EQ(prompts("ab"), (std::vector<std::vector<std::int32_t>>{bytes_of("ab")}));
  EXPECT_EQ(prompts({"ab", "c"}), (std::vector{bytes_of("ab"), bytes_of("c")}));
  EXPECT_EQ(prompts({1, 2}), (std::vector<std::vector<std::int32_t>>{{1, 2}}));
  EXPECT_EQ(prompts({{1, 2}, {3}}), (std::vector<std::vector<std::int32_t>>{{1, 2}, {3}}));
  EXPECT_THROW(prompts(""), ApiError);
  EXPECT_THROW(prompts(std::string(65, 'a')), ApiError) << "longer than the context";
  EXPECT_EQ(prompts(std::string(64, 'a')).at(0).size(), 64U) << "no room for an answer is needed";
}

TEST(EmbeddingRequest, SaysHowItIsMadeAndWritten) {
  EXPECT_EQ(read_embeddings({{"input", "a"}}, byte_model()).call.options.pooling, Pooling::mean);
  EXPECT_FALSE(read_embeddings({{"input", "a"}}, byte_model()).base64);
  const EmbeddingCall last = read_embeddings(
      {{"input", "a"}, {"pooling", "last"}, {"encoding_format", "base64"}}, byte_model());
  EXPECT_EQ(last.call.options.pooling, Pooling::last);
  EXPECT_TRUE(last.base64);
  EXPECT_EQ(last.call.options.max_tokens, 0);
}

}  // namespace
}  // namespace triax::test
