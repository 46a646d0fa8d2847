// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tekken.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/error_of.hpp"

namespace triax {
namespace {

using nlohmann::json;

json small() {
  json file = {{"config",
                {{"pattern", R"(\p{L}+|\s|\p{N})"},
                 {"num_vocab_tokens", 5},
                 {"default_vocab_size", 26},
                 {"default_num_special_tokens", 22},
                 {"version", "v3"}}}};
  int rank = 0;
  for (const char* bytes : {"YQ==", "Yg==", "YWI=", "IA==", "YWJh"})  // a, b, ab, blank, aba
    file["vocab"].push_back({{"rank", rank++}, {"token_bytes", bytes}, {"token_str", nullptr}});
  return file;
}

TEST(Tekken, IdsFollowTheSpecialTokens) {
  const auto tokenizer = make_pipeline(parse_tekken(small().dump(), "tekken.json"));
  std::vector<std::int32_t> ids;
  tokenizer->encoder()->encode("aba b", {.add_special_tokens = true}, ids);
  // "aba" is beyond default_vocab_size.
  EXPECT_EQ(ids, (std::vector<std::int32_t>{1, 24, 22, 25, 23}));
  EXPECT_EQ(tokenizer->decode(ids, true), "aba b");
  EXPECT_EQ(tokenizer->end_token(), 2);
  EXPECT_EQ(tokenizer->id_of("[INST]"), 3);
  EXPECT_EQ(tokenizer->token(21), "<SPECIAL_21>");
}

TEST(Tekken, RefusesWhatItDoesNotKnow) {
  json file = small();
  file["config"]["odd"] = 1;
  EXPECT_THAT(test::error_of([&] { parse_tekken(file.dump(), "t"); }),
              testing::HasSubstr("config.odd is not known"));
  file = small();
  file["vocab"][1]["token_bytes"] = "?";
  EXPECT_THAT(test::error_of([&] { parse_tekken(file.dump(), "t"); }),
              testing::HasSubstr("vocab[1].token_bytes"));
}

}  // namespace
}  // namespace triax
