// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/json_schema.hpp"

#include <gmock/gmock.h>

#include "tests/inference/constraint/accepted.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

void expect(const char* schema, const std::vector<const char*>& good,
            const std::vector<const char*>& bad) {
  Automaton automaton = automaton_of(Kind::json_schema, schema);
  for (const char* text : good) EXPECT_TRUE(accepts(automaton, text)) << schema << ": " << text;
  for (const char* text : bad) EXPECT_FALSE(accepts(automaton, text)) << schema << ": " << text;
}

TEST(JsonSchema, ObjectsHaveTheirProperties) {
  expect(R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"},
             "c": {"type": "null"}}, "required": ["b"], "additionalProperties": false,
             "title": "T", "$schema": "x"})",
         {R"({"b":"x"})", R"({"a":1,"b":""})", R"({"a": -12, "b": "x", "c": null})",
          "{\n  \"b\": \"x\",\n  \"c\": null\n}"},
         {"{}", R"({"a":1})", R"({"b":"x","a":1})", R"({"a":1,"b":"x","d":1})", R"({"b":1})",
          R"({"a":1.5,"b":"x"})", R"({,"b":"x"})", R"({"b":"x",})"});
  expect(R"({"properties": {"a": {"const": 1}, "b": true}})",
         {"{}", R"({"a":1})", R"({"b":[{}]})", R"({"a":1,"b":2})"}, {R"({"a":2})", R"({"c":1})"});
  expect(R"({"type": "object", "additionalProperties": {"type": "boolean"}})",
         {"{}", R"({"x":true,"y":false})"}, {R"({"x":1})"});
  expect(R"({"type": "object", "additionalProperties": false})", {"{}"}, {R"({"x":1})"});
  expect(R"({"type": "object"})", {R"({"x":[1]})"}, {"[]"});
}

TEST(JsonSchema, ArraysHaveTheirItems) {
  expect(R"({"type": "array", "items": {"enum": ["a", 2, null]}, "minItems": 1, "maxItems": 3})",
         {R"(["a"])", R"([2, null, "a"])"}, {"[]", R"(["b"])", "[2,2,2,2]", "[2,]"});
  expect(R"({"type": "array", "items": {"type": "number"}})", {"[]", "[ ]", "[1.5,-2e3]"}, {"[a]"});
  expect(R"({"items": {"type": "number"}, "maxItems": 0})", {"[]"}, {"[1]"});
  expect(R"({"type": "array"})", {R"([1,"x",{}])"}, {"{}"});
}

TEST(JsonSchema, TextsHaveLengthsPatternsAndFormats) {
  expect(R"({"type": "string", "minLength": 2, "maxLength": 3})", {R"("ab")", R"("žž\n")"},
         {R"("a")", R"("abcd")"});
  expect(R"({"type": "string", "pattern": "^[a-c\"\\n]+$"})", {R"("abc")", R"("a\"b")", R"("\n")"},
         {R"("")", R"("d")", R"("a"b")", "\"\n\""});
  expect(R"({"type": "string", "pattern": "b"})", {R"("abc")", R"("b")", R"("ž\"b")"}, {R"("ac")"});
  expect(R"({"type": "string", "format": "date"})", {R"("2026-11-29")"},
         {R"("2026-13-01")", R"("29.11.2026")"});
  expect(R"({"type": "string", "format": "date-time"})",
         {R"("2026-11-29T12:00:00Z")", R"("2026-11-29T12:00:00.5+01:00")"}, {R"("2026-11-29")"});
}

TEST(JsonSchema, SchemasAreChosenAndReferredTo) {
  expect(R"({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]})",
         {"1", "[]", "[1,[2,[[3]]]]"}, {"{}", "[true]", "[1"});
  expect(R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"value":
             {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
             "required": ["value", "next"]}}})",
         {R"({"value":1,"next":null})", R"({"value":1,"next":{"value":2,"next":null}})"},
         {R"({"value":1})", R"({"value":1,"next":{}})"});
  expect(R"({"type": ["string", "null"]})", {"null", R"("x")"}, {"1"});
  expect(R"({"allOf": [{"type": "null"}]})", {"null"}, {"1"});
  expect(R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})", {"null"}, {"1"});
}

TEST(JsonSchema, RefusesByPath) {
  const auto error = [](const char* schema) {
    return error_of([&] { grammar_of({.kind = Kind::json_schema, .text = schema}); });
  };
  EXPECT_THAT(
      error(R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}})"),
      HasSubstr("/properties/a has \"minimum\""));
  EXPECT_THAT(error(R"({"oneOf": [{"type": "null"}]})"), HasSubstr("/ has no type"));
  EXPECT_THAT(error(R"({"type": "null", "not": {}})"), HasSubstr("\"not\""));
  EXPECT_THAT(error(R"({"type": "string", "format": "email"})"), HasSubstr("\"email\""));
  EXPECT_THAT(error(R"x({"type": "string", "pattern": "(?=a)"})x"), HasSubstr("lookaround"));
  EXPECT_THAT(error(R"({"type": "string", "pattern": "a", "maxLength": 3})"), HasSubstr("pattern"));
  EXPECT_THAT(error(R"({"type": "decimal"})"), HasSubstr("\"decimal\""));
  EXPECT_THAT(error(R"({"$ref": "#/$defs/x"})"), HasSubstr("/$defs/x, which is not there"));
  EXPECT_THAT(error(R"({"$ref": "http://x"})"), HasSubstr("not within the schema"));
  EXPECT_THAT(error(R"({"type": "object", "required": ["a"]})"), HasSubstr("requires \"a\""));
  EXPECT_THAT(error(R"({"type": "array", "prefixItems": []})"), HasSubstr("\"prefixItems\""));
  EXPECT_THAT(error(R"({"type": "array", "maxItems": -1})"), HasSubstr("maxItems"));
  EXPECT_THAT(error("false"), HasSubstr("no schema"));
}

}  // namespace
}  // namespace triax::test
