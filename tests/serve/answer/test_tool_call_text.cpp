// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/tool_call_text.hpp"

#include <gtest/gtest.h>

namespace triax::test {
namespace {

struct Found {
  std::string content, calls;  // calls: "name(arguments) ..."
  bool operator==(const Found&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Found& found) {
  return out << '"' << found.content << "\" with " << found.calls;
}

void add(Found& to, const ToolCallText::Piece& piece) {
  to.content += piece.content;
  for (const ToolCall& call : piece.calls) {
    EXPECT_EQ(call.id.size(), 9U);
    to.calls += call.name + "(" + call.arguments + ")";
  }
}

// The same in one piece, and cut anywhere in two, and in single bytes.
Found found(const char* template_text, const std::string& text, bool parallel = true) {
  OfferedTools tools{tool_form_of(template_text), {"f", "get_weather"}, parallel};
  const auto in_pieces = [&](std::size_t cut, std::size_t size) {
    ToolCallText calls(tools, 1);
    Found all;
    add(all, calls.next(text.substr(0, cut)));
    for (std::size_t at = cut; at < text.size(); at += size)
      add(all, calls.next(text.substr(at, size)));
    add(all, calls.rest());
    EXPECT_EQ(calls.called(), !all.calls.empty());
    return all;
  };
  const Found whole = in_pieces(text.size(), 1);
  for (std::size_t cut = 0; cut < text.size(); ++cut)
    EXPECT_EQ(in_pieces(cut, text.size()), whole) << "cut at " << cut;
  EXPECT_EQ(in_pieces(0, 1), whole);
  return whole;
}

constexpr const char* hermes = "... <tool_call> ...";
constexpr const char* mistral = "... [TOOL_CALLS] ...";
constexpr const char* llama = "... <|python_tag|> ...";

TEST(ToolCallText, ReadsTaggedCalls) {
  const std::string call =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": [2]}}\n</tool_call>";
  EXPECT_EQ(found(hermes, call), (Found{"", "f({\"b\":1,\"a\":[2]})"}));
  EXPECT_EQ(found(hermes, "Let me see.\n" + call + "\n" + call + "\n"),
            (Found{"Let me see.", "f({\"b\":1,\"a\":[2]})f({\"b\":1,\"a\":[2]})"}));
  EXPECT_EQ(found(hermes, call + call, false), (Found{"", "f({\"b\":1,\"a\":[2]})"}));
  EXPECT_EQ(found(hermes, "<tool_call>{\"name\":\"f\"}</tool_call> and more"),
            (Found{" and more", "f({})"}));
}

TEST(ToolCallText, WhatIsNoCallStaysContent) {
  for (const std::string text :
       {"plain text \n", "a < b <tool <tool_call", " <tool_call>no JSON</tool_call> rest",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":",
        "<tool_call>{\"name\":\"g\"}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>", "\n\n"})
    EXPECT_EQ(found(hermes, text), (Found{text, ""})) << text;
  for (const std::string text : {"{\"answer\": 1}", " {\"name\": \"f\"", "Use {\"name\": \"f\"}.",
                                 "<|python_tag|>print(1)", "<|py", "  ", "{\"name\":\"f\"} or so"})
    EXPECT_EQ(found(llama, text), (Found{text, ""})) << text;
  for (const std::string text : {"[TOOL", " [TOOL_CALLS] f", "[TOOL_CALLS][]", "[TOOL_CALLS][{]"})
    EXPECT_EQ(found(mistral, text), (Found{text, ""})) << text;
}

TEST(ToolCallText, ReadsObjectsAtTheBeginning) {
  const std::string call = "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Žatec\"}}";
  const Found one{"", "get_weather({\"city\":\"Žatec\"})"};
  EXPECT_EQ(found(llama, call), one);
  EXPECT_EQ(found(llama, "\n\n<|python_tag|>" + call), one);
  EXPECT_EQ(found(llama, call + "; " + call), (Found{"", one.calls + one.calls}));
  EXPECT_EQ(found("{\"name\": function name, \"parameters\": dictionary of ...", call), one);
}

TEST(ToolCallText, ReadsMarkedCalls) {
  EXPECT_EQ(found(mistral,
                  "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": 1}}, {\"name\": "
                  "\"f\", \"arguments\": {}}]"),
            (Found{"", "f({\"a\":1})f({})"}));
  EXPECT_EQ(found(mistral, "Yes. [TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]get_weather{\"b\": {}}"),
            (Found{"Yes.", "f({\"a\":1})get_weather({\"b\":{}})"}));
}

TEST(ToolCallText, IdsFollowFromTheRequest) {
  const OfferedTools tools{tool_form_of(hermes), {"f"}};
  const std::string call = "<tool_call>{\"name\":\"f\"}</tool_call>";
  const auto ids = [&](std::uint64_t key) {
    std::vector<std::string> all;
    for (const ToolCall& one : ToolCallText(tools, key).next(call + call).calls)
      all.push_back(one.id);
    return all;
  };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
  EXPECT_NE(ids(1).at(0), ids(1).at(1));
}

}  // namespace
}  // namespace triax::test
