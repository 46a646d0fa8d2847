// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/answer_form.hpp"

#include <gmock/gmock.h>

#include "src/serve/api/api_error.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;
using Kind = ConstraintSpec::Kind;
using testing::HasSubstr;

ConstraintSpec form_of(const json& body) {
  return read_answer_form(Fields(body));
}

// "param: message" of the ApiError.
std::string refused(const json& body) {
  try {
    form_of(body);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.param() + ": " + error.what();
  }
  return "not refused";
}

TEST(AnswerForm, IsNamedInManyWays) {
  const json schema = {{"type", "object"}};
  EXPECT_EQ(form_of(json::object()).kind, Kind::none);
  EXPECT_EQ(form_of({{"response_format", {{"type", "text"}}}}).kind, Kind::none);
  EXPECT_EQ(form_of({{"response_format", {{"type", "json_object"}}}}).kind, Kind::json_object);
  const ConstraintSpec named = {.kind = Kind::json_schema, .text = schema.dump()};
  EXPECT_EQ(
      form_of({{"response_format",
                {{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", schema}}}}}}),
      named);
  EXPECT_EQ(form_of({{"guided_json", schema}}), named);
  EXPECT_EQ(form_of({{"guided_json", schema.dump()}}), named);
  EXPECT_EQ(form_of({{"structured_outputs", {{"json", schema}}}}), named);
  EXPECT_EQ(form_of({{"guided_regex", "a+"}}), (ConstraintSpec{.kind = Kind::regex, .text = "a+"}));
  EXPECT_EQ(form_of({{"structured_outputs", {{"choice", {"a", "b"}}, {"regex", nullptr}}}}),
            form_of({{"guided_choice", {"a", "b"}}}));
}

TEST(AnswerForm, RefusalsNameTheField) {
  EXPECT_THAT(refused({{"response_format", "json"}}), HasSubstr("response_format: "));
  EXPECT_THAT(refused({{"response_format", {{"type", "grammar"}}}}), HasSubstr("type grammar"));
  EXPECT_THAT(refused({{"response_format", {{"type", "json_schema"}}}}), HasSubstr("schema"));
  EXPECT_THAT(refused({{"guided_json", {{"type", "integer"}, {"minimum", 3}}}}),
              HasSubstr("guided_json: 'guided_json': the JSON schema: / has \"minimum\""));
  EXPECT_THAT(refused({{"guided_json", "{"}}), HasSubstr("must be a JSON schema"));
  EXPECT_THAT(refused({{"guided_regex", "("}}), HasSubstr("guided_regex: "));
  EXPECT_THAT(refused({{"guided_choice", json::array()}}), HasSubstr("guided_choice: "));
  EXPECT_THAT(refused({{"guided_choice", {"a", ""}}}), HasSubstr("guided_choice: "));
  EXPECT_THAT(refused({{"structured_outputs", {{"grammar", "x"}}}}), HasSubstr("has grammar"));
  EXPECT_THAT(refused({{"guided_regex", "a"}, {"guided_choice", {"a"}}}), HasSubstr("second form"));
}

TEST(AnswerForm, CallsAreJsonBetweenTheirMarks) {
  const json tools = json::parse(
      R"([{"function": {"name": "f", "parameters": {"type": "object", "properties": {}}}},
          {"function": {"name": "g"}}])");
  const ToolForm& hermes = *tool_form_of("<tool_call>");
  const ConstraintSpec any = form_of_call(tools, hermes, "");
  EXPECT_EQ(any.kind, Kind::json_schema);
  EXPECT_EQ(any.before, "<tool_call>\n");
  EXPECT_EQ(json::parse(any.text)["anyOf"].size(), 2U);
  const json one = json::parse(form_of_call(tools, hermes, "g").text)["anyOf"];
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]["properties"]["name"]["const"], "g");
  EXPECT_TRUE(one[0]["properties"].contains("arguments"));
  EXPECT_THROW(form_of_call(tools, hermes, "h"), ApiError);
}

}  // namespace
}  // namespace triax::test
