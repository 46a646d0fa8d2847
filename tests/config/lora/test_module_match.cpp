// SPDX-License-Identifier: Apache-2.0
#include "src/config/lora/module_match.hpp"

#include <gmock/gmock.h>

#include "kernels/base/check.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {
using nlohmann::json;
using testing::HasSubstr;

const std::string query = "model.layers.12.self_attn.q_proj";

TEST(ModuleMatch, AListHasNamesOrTheirLastParts) {
  EXPECT_TRUE(names_module({"k_proj", "q_proj"}, query));
  EXPECT_TRUE(names_module({"self_attn.q_proj"}, query));
  EXPECT_TRUE(names_module({query}, query));
  EXPECT_FALSE(names_module({"proj"}, query));  // no dot before it
  EXPECT_FALSE(names_module({"self_attn"}, query));
  EXPECT_FALSE(names_module(json::array(), query));
  EXPECT_FALSE(names_module(nullptr, query));
}

TEST(ModuleMatch, ARegularExpressionMatchesTheWholeName) {
  EXPECT_TRUE(names_module(R"(.*\.q_proj)", query));
  EXPECT_TRUE(names_module(R"(.*\.layers\.1[0-9]\..*(q|k)_proj)", query));
  EXPECT_FALSE(names_module("q_proj", query));
  EXPECT_FALSE(names_module(R"(.*\.q_pro)", query));
  EXPECT_THAT(error_of([] { names_module("(", query); }),
              HasSubstr("\"(\" is no regular expression"));
}

TEST(ModuleMatch, APatternMatchesTheEndOfAName) {
  EXPECT_TRUE(pattern_names("q_proj", query));
  EXPECT_TRUE(pattern_names("12.self_attn.q_proj", query));
  EXPECT_TRUE(pattern_names(query, query));
  EXPECT_FALSE(pattern_names("2.self_attn.q_proj", query));
  EXPECT_FALSE(pattern_names("self_attn", query));
}

TEST(ModuleMatch, FindsTheBlockOfAModule) {
  EXPECT_EQ(block_of_module(query, {}), 12);
  EXPECT_EQ(block_of_module(query, {"layers"}), 12);
  EXPECT_EQ(block_of_module(query, {"h", "layers"}), 12);
  EXPECT_EQ(block_of_module(query, {"h"}), -1);
  EXPECT_EQ(block_of_module("transformer.h.3.attn.c_attn", {"h"}), 3);
  EXPECT_EQ(block_of_module("lm_head", {}), -1);
}

}  // namespace
}  // namespace triax::test
