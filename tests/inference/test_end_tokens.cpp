// SPDX-License-Identifier: Apache-2.0
#include "src/inference/end_tokens.hpp"

#include <gmock/gmock.h>

#include "src/text/open_tokenizer.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(EndTokens, AreThoseOfTheModelAndOfTheTokenizer) {
  const auto bytes = byte_tokenizer();  // names no end
  const TokenizerFiles none;
  EXPECT_THAT(end_tokens("{}", none, *bytes, 100), IsEmpty());
  EXPECT_THAT(end_tokens(R"({"eos_token_id": null})", none, *bytes, 100), IsEmpty());
  EXPECT_THAT(end_tokens(R"({"eos_token_id": 7})", none, *bytes, 100), ElementsAre(7));
  EXPECT_THAT(end_tokens(R"({"eos_token_id": [9, 7, 9]})", none, *bytes, 100), ElementsAre(7, 9));
  EXPECT_THAT(end_tokens(R"({"eos_token_id": [-1, 100, 99]})", none, *bytes, 100), ElementsAre(99));
  const TokenizerFiles files{.place = "there",
                             .tokenizer = {},
                             .bytes = {{"generation_config.json", R"({"eos_token_id": [2, 7]})"}}};
  EXPECT_THAT(end_tokens(R"({"eos_token_id": 3})", files, *bytes, 100), ElementsAre(2, 3, 7));
}

TEST(EndTokens, OfADamagedFileAreRefused) {
  const TokenizerFiles files{
      .place = "there", .tokenizer = {}, .bytes = {{"generation_config.json", "{"}}};
  EXPECT_THAT(error_of([&] { end_tokens("{}", files, *byte_tokenizer(), 9); }),
              HasSubstr("there/generation_config.json is no JSON object"));
}

}  // namespace
}  // namespace triax::test
