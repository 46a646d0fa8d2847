// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/show.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace triax::test {
namespace {

const std::vector<std::int32_t> ids = {'Q', ':', '"', 'A', 0, 0, 0};
const std::vector<std::int32_t> labels = {-100, -100, -100, 'A', -100, -100, -100};
const ShownSample shown{7, 9, ids, labels};

TEST(Show, MarksTokensThatTrain) {
  const auto bytes = byte_tokenizer();
  EXPECT_EQ(sample_text(shown, bytes.get(), ShowStyle::plain),
            "sample 7 (an epoch has 9): 4 tokens, 1 train\n"
            "     0       81   \"Q\"\n"
            "     1       58   \":\"\n"
            "     2       34   \"\\\"\"\n"
            "     3       65 * \"A\"\n"
            "3 tokens of id 0 fill the row\n");
  const std::string color = sample_text(shown, bytes.get(), ShowStyle::color);
  EXPECT_NE(color.find("\x1b[32m     3       65 * \"A\"\x1b[0m\n"), std::string::npos) << color;
  EXPECT_EQ(sample_text(shown, nullptr, ShowStyle::plain).find("\"Q\""), std::string::npos);
}

TEST(Show, DocumentsHaveNumbersAndPositions) {
  const std::vector<std::uint8_t> starts = {1, 0, 1, 0, 1, 0, 0};
  ShownSample packed = shown;
  packed.starts = starts;
  EXPECT_EQ(sample_text(packed, nullptr, ShowStyle::plain),
            "sample 7 (an epoch has 9): 4 tokens, 1 train\n"
            "number       id document position\n"
            "     0       81        0        0   \n"
            "     1       58        0        1   \n"
            "     2       34        1        0   \n"
            "     3       65        1        1 * \n"
            "3 tokens of id 0 fill the row\n");
  const auto json = nlohmann::json::parse(sample_text(packed, nullptr, ShowStyle::json));
  EXPECT_EQ(json.at("tokens")[3],
            (nlohmann::json{{"position", 1}, {"document", 1}, {"id", 65}, {"trains", true}}));
  EXPECT_EQ(json.at("tokens")[6].at("document"), 2);
}

TEST(Show, JsonHasAllTokens) {
  const auto json =
      nlohmann::json::parse(sample_text(shown, byte_tokenizer().get(), ShowStyle::json));
  EXPECT_EQ(json.at("tokens").size(), 7U);
  EXPECT_EQ(json.at("tokens")[3],
            (nlohmann::json{{"position", 3}, {"id", 65}, {"trains", true}, {"text", "A"}}));
  EXPECT_EQ(json.at("trained"), 1);
}

}  // namespace
}  // namespace triax::test
