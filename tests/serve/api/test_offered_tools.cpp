// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/offered_tools.hpp"

#include <gtest/gtest.h>

#include "src/serve/api/api_error.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;

TEST(OfferedTools, TheTemplateSaysHowCallsAreWritten) {
  EXPECT_EQ(tool_form_of("{{ messages }}"), nullptr);
  ASSERT_NE(tool_form_of("within <tool_call></tool_call> tags"), nullptr);
  EXPECT_STREQ(tool_form_of("within <tool_call></tool_call> tags")->ends, "</tool_call>");
  EXPECT_TRUE(tool_form_of("<|python_tag|>")->first);
  EXPECT_FALSE(tool_form_of("[TOOL_CALLS]")->first);
}

TEST(OfferedTools, NamesAreThoseOfFunctions) {
  const json tools = {{{"type", "function"}, {"function", {{"name", "a"}}}},
                      {{"function", {{"name", "b"}, {"parameters", json::object()}}}}};
  EXPECT_EQ(tool_names(tools), (std::vector<std::string>{"a", "b"}));
  for (const json& wrong : {json("a"), json{{"type", "custom"}, {"function", {{"name", "a"}}}},
                            json{{"type", "function"}}, json{{"function", {{"name", 1}}}}})
    EXPECT_THROW(tool_names(json::array({wrong})), ApiError) << wrong;
}

// Keys of arguments keep their order: the model wrote them so, and templates show them so.
TEST(OfferedTools, ArgumentsKeepTheOrderOfTheirKeys) {
  const auto calls = tool_form_of("<tool_call>")
                         ->read(
                             "<tool_call>{\"name\": \"f\", \"arguments\": {\"z\": 1, \"a\": "
                             "2}}</tool_call>");
  ASSERT_TRUE(calls);
  EXPECT_EQ(calls->at(0).arguments, R"({"z":1,"a":2})");
}

}  // namespace
}  // namespace triax::test
