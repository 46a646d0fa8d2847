// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/fields.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/serve/api/api_error.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;

// The field that an ApiError names; "-" without one, empty without an error.
template <class Action>
std::string refused(Action action) {
  try {
    action();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.param().empty() ? "-" : error.param();
  }
  return {};
}

TEST(ParseRequest, RefusesWhatIsNoJson) {
  EXPECT_EQ(parse_request(R"({"a": [1]})")["a"][0], 1);
  for (const std::string& text : {std::string("{"), std::string(), std::string("{\"a\": \"\xff\"}"),
                                  std::string(R"({"a": "\udc00"})"), std::string(70, '[')})
    EXPECT_EQ(refused([&] { parse_request(text); }), "-") << text;
}

TEST(ParseRequest, KeepsTheOrderOfKeysAndLimitsTheirNumber) {
  EXPECT_EQ(parse_request(R"({"b": 1, "a": {"d": 2, "c": 3}})").dump(),
            R"({"b":1,"a":{"d":2,"c":3}})");
  std::string many = "{";
  for (int i = 0; i < 20'001; ++i) many += fmt::format("{}\"{}\": 0", i == 0 ? "" : ",", i);
  EXPECT_EQ(refused([&] { parse_request(many + "}"); }), "-");
}

TEST(Fields, ReadTypedValuesWithinBounds) {
  const json body = json::parse(
      R"({"n": 3, "whole": 5.0, "half": 0.5, "yes": true, "text": "t", "none": null,
          "list": ["a", "b"], "tokens": [0, 7], "huge": 18446744073709551615, "empty": {}})");
  const Fields fields(body);
  EXPECT_EQ(fields.integer("n", 1, 1, 3), 3);
  EXPECT_EQ(fields.integer("whole", 1, 1, 9), 5);
  EXPECT_EQ(fields.integer("none", 4, 1, 9), 4);
  EXPECT_EQ(fields.number("half", 1, 0, 1), 0.5);
  EXPECT_TRUE(fields.flag("yes", false));
  EXPECT_EQ(fields.text("absent", "x"), "x");
  EXPECT_EQ(fields.texts("list", 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fields.texts("text", 2), (std::vector<std::string>{"t"}));
  EXPECT_EQ(fields.tokens("tokens", 8), (std::vector<std::int32_t>{0, 7}));
  EXPECT_EQ(refused([&] { fields.refuse({"none", "absent", "empty"}); }), "");
}

TEST(Fields, NameWhatIsWrong) {
  const json body = json::parse(
      R"({"n": 3, "half": 0.5, "text": "", "list": ["a", 1], "tokens": [0, 8], "huge": 1e300,
          "long": 18446744073709551615})");
  const Fields fields(body);
  EXPECT_EQ(refused([&] { (void)fields.integer("n", 1, 4, 9); }), "n");
  EXPECT_EQ(refused([&] { (void)fields.integer("half", 1, 0, 9); }), "half");
  EXPECT_EQ(refused([&] { (void)fields.integer("huge", 1, 0, 9); }), "huge");
  EXPECT_EQ(refused([&] { (void)fields.integer("long", 1, 0, 9); }), "long");
  EXPECT_EQ(refused([&] { (void)fields.number("text", 1, 0, 9); }), "text");
  EXPECT_EQ(refused([&] { (void)fields.flag("n", true); }), "n");
  EXPECT_EQ(refused([&] { (void)fields.text("n", ""); }), "n");
  EXPECT_EQ(refused([&] { (void)fields.texts("text", 4); }), "text");
  EXPECT_EQ(refused([&] { (void)fields.texts("list", 4); }), "list");
  EXPECT_EQ(refused([&] { (void)fields.texts("list", 1); }), "list");
  EXPECT_EQ(refused([&] { (void)fields.tokens("tokens", 8); }), "tokens");
  EXPECT_EQ(refused([&] { fields.refuse({"n"}); }), "n");
  EXPECT_EQ(refused([] { const Fields none(json::array()); }), "-");
}

TEST(ApiError, TypesFollowFromTheStatus) {
  const json error = json::parse(ApiError(429, "full", {}, "rate_limit_exceeded").after(2).body());
  EXPECT_EQ(error["error"]["type"], "rate_limit_error");
  EXPECT_EQ(error["error"]["code"], "rate_limit_exceeded");
  EXPECT_EQ(error["error"]["param"], nullptr);
  EXPECT_EQ(json::parse(bad_request("no", "n").body())["error"]["param"], "n");
  EXPECT_EQ(json::parse(ApiError(500, "a\xff").body())["error"]["message"], "a\uFFFD");
}

}  // namespace
}  // namespace triax::test
