// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/jinja_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/error_of.hpp"

namespace triax::jinja {
namespace {

using nlohmann::ordered_json;
using test::error_of;
using testing::HasSubstr;
using testing::StartsWith;

const Clock clock_of_tests{2026, 1, 31, 12, 34, 56};

Rendered render(const std::string& text, const std::string& variables = "{}") {
  Dict dict;
  const ordered_json json = ordered_json::parse(variables);
  for (const auto& [key, value] : json.items()) dict.set(key, from_json(value));
  return JinjaTemplate("t", text).render(dict, clock_of_tests);
}

// Frozen answers of transformers' environment, of values, operators, filters, tests and blanks.
TEST(JinjaTemplate, AgreesWithJinja) {
  std::ifstream file(std::string(TRIAX_SOURCE_DIR) + "/tests/golden/templates/expressions.json");
  const ordered_json golden = ordered_json::parse(file);
  ASSERT_GT(golden.at("cases").size(), 90U);
  for (const ordered_json& one : golden.at("cases")) {
    const std::string text = one.at("template");
    Rendered rendered;
    const std::string error =
        error_of([&] { rendered = render(text, golden.at("variables").dump()); });
    if (!one.contains("text")) {
      EXPECT_NE(error, "") << text << "\ngives " << rendered.text;
      continue;
    }
    EXPECT_EQ(error, "") << text;
    EXPECT_EQ(rendered.text, one.at("text").get<std::string>()) << text;
    ordered_json spans = ordered_json::array();
    for (const TextSpan& span : rendered.generated) spans.push_back({span.begin, span.end});
    EXPECT_EQ(spans, one.at("spans")) << text;
  }
}

TEST(JinjaTemplate, ErrorsHaveLineAndColumn) {
  EXPECT_THAT(error_of([] { render("a\n {{ x.y }}"); }), StartsWith("t:2:7: 'x' is undefined"));
  EXPECT_THAT(error_of([] { render("é {{ 'a' + 1 }}"); }),
              StartsWith("t:1:10: + of a string and an integer"));
  EXPECT_THAT(error_of([] { render("{% include 'a' %}"); }),
              HasSubstr("t:1:4: {% include %} is not supported"));
  EXPECT_THAT(error_of([] { render("{{ x | frobnicate }}"); }),
              HasSubstr("t:1:8: the filter 'frobnicate'"));
  EXPECT_THAT(error_of([] { render("{% if x %}\na"); }),
              HasSubstr("t:2:1: the block has no {% endif %}"));
  EXPECT_THAT(error_of([] { render("{{ [1, }} b"); }),
              HasSubstr("t:1:8: unexpected '}', ']' is open"));
  EXPECT_THAT(error_of([] { JinjaTemplate("t", "\xff"); }), HasSubstr("t is not UTF-8"));
}

TEST(JinjaTemplate, RefusalsHaveTheTemplatesMessage) {
  try {
    render("\n{{ raise_exception('no system') }}");
    FAIL();
  } catch (const TemplateRefusal& refusal) {
    EXPECT_EQ(refusal.message, "no system");
    EXPECT_THAT(refusal.what(),
                StartsWith("t:2:19: the chat template refuses the conversation (no system)"));
  }
}

TEST(JinjaTemplate, EndlessWorkEnds) {
  EXPECT_THAT(error_of([] {
                render(
                    "{% for i in range(99999) %}{% for j in range(99999) %}{{ i }}{% endfor %}{% "
                    "endfor %}");
              }),
              HasSubstr("does not end within"));
  EXPECT_THAT(error_of([] { render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"); }),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of([] { render("{{ 'abcdefgh' * 99999999 }}"); }), HasSubstr("too long"));
  EXPECT_THAT(error_of([] { render("{{ range(1000000) }}"); }), HasSubstr("more than 100000"));
  EXPECT_THAT(error_of([] {
                render(
                    "{% set n = namespace(x='abcdefgh') %}{% for i in range(99) %}"
                    "{% set n.x = n.x ~ n.x %}{% endfor %}");
              }),
              HasSubstr("too long"));
  const auto nested = [](const std::string& open, const std::string& inner) {
    std::string text = "{{ ";
    for (int i = 0; i < 100'000; ++i) text += open;
    return text + inner + " }}";
  };
  for (const char* open : {"(", "[", "-", "not ", "1 + ", "{1: ", "x.", "1 if 1 else "})
    EXPECT_NE(error_of([&] { render(nested(open, "1")); }), "") << open;
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) blocks += "{% if 1 %}";
  EXPECT_THAT(error_of([&] { render(blocks); }), HasSubstr("nested too deeply"));
}

TEST(JinjaTemplate, NestedValuesEnd) {
  const auto chain = [](const std::string& link, const std::string& rest) {
    return "{% set n = namespace(x=[]) %}{% for j in range(10) %}{% for i in range(50000) %}"
           "{% set n.x = " +
           link + " %}{% endfor %}{% endfor %}" + rest;
  };
  for (const char* link : {"[n.x]", "{1: n.x}", "{1: n.x}.get", "namespace(x=n.x)"})
    EXPECT_EQ(render(chain(link, "ok")).text, "ok") << link;
  for (const char* use : {"{{ n.x }}", "{{ n.x | tojson }}", "{{ n.x == [n.x] }}"})
    EXPECT_THAT(error_of([&] { render(chain("[n.x]", use)); }), HasSubstr("nested deeper than 500"))
        << use;
}

TEST(JinjaTemplate, LongListsCostSteps) {
  EXPECT_THAT(error_of([] { render("{{ [0] * 9999999 }}"); }), HasSubstr("too long"));
  for (const char* use : {"{% if -1 in r %}{% endif %}", "{% for j in r %}{% break %}{% endfor %}",
                          "{% set q = r[::-1] %}"})
    EXPECT_THAT(error_of([&] {
                  render("{% set r = range(99999) | list %}{% for i in range(9999) %}" +
                         std::string(use) + "{% endfor %}");
                }),
                HasSubstr("does not end within"))
        << use;
}

// The variable `loop` may outlive its loop; the scopes of the loop's condition do not.
TEST(JinjaTemplate, LoopsAreUsedAfterTheirEnd) {
  EXPECT_EQ(render("{% set n = namespace() %}{% for i in [1, 2] %}{% set n.f = loop.changed %}"
                   "{% endfor %}{{ n.f(1) }} {{ n.f(1) }}")
                .text,
            "True False");
  EXPECT_THAT(
      error_of([] {
        render(
            "{% set n = namespace() %}{% for a in [1] %}{% set b = 5 %}{% for i in [1, 2, 3] if "
            "i != b %}{% set n.l = loop %}{% break %}{% endfor %}{% endfor %}{{ n.l.length }}");
      }),
      HasSubstr("the loop is over"));
}

TEST(JinjaTemplate, SpansAreOfTheFinalText) {
  const Rendered rendered =
      render("é{% for i in [1, 2] %}u{% generation %}{{ i }}ö{% endgeneration %}{% endfor %}");
  EXPECT_EQ(rendered.text, "éu1öu2ö");
  EXPECT_EQ(rendered.generated, (std::vector<TextSpan>{{3, 6}, {7, 10}}));
  EXPECT_THAT(
      error_of([] {
        render("{% set x %}a{% generation %}b{% endgeneration %}{% endset %}{{ x | upper }}");
      }),
      HasSubstr("{% generation %} is in a macro or block that changes its text"));
  EXPECT_TRUE(JinjaTemplate("t", "{% generation %}{% endgeneration %}").has_generation());
  EXPECT_FALSE(JinjaTemplate("t", "generation").has_generation());
}

}  // namespace
}  // namespace triax::jinja
