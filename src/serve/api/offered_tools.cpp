// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/offered_tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "src/serve/api/api_error.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;
using Calls = std::optional<std::vector<WrittenCall>>;

std::string_view trimmed(std::string_view text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string_view without(std::string_view text, std::string_view begin, std::string_view end = {}) {
  if (text.starts_with(begin)) text.remove_prefix(begin.size());
  if (!end.empty() && text.ends_with(end)) text.remove_suffix(end.size());
  return trimmed(text);
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// {"name": ..., "arguments" or "parameters": {...}}
std::optional<WrittenCall> call_of(const json& value) {
  if (!value.is_object() || !value.contains("name") || !value["name"].is_string()) return {};
  WrittenCall call{value["name"].get<std::string>(), "{}"};
  for (const char* key : {"arguments", "parameters"}) {
    const auto found = value.find(key);
    if (found == value.end()) continue;
    if (found->is_string() && json::accept(found->get_ref<const std::string&>()))
      call.arguments = found->get<std::string>();
    else if (found->is_object())
      call.arguments = dumped(*found);
    else
      return {};
    break;
  }
  return call;
}

Calls read_tagged(std::string_view text) {
  const json value = json::parse(without(text, "<tool_call>", "</tool_call>"), nullptr, false);
  if (const auto call = call_of(value)) return {{*call}};
  return {};
}

// Objects with ";" between them.
Calls read_objects(std::string_view text) {
  std::vector<WrittenCall> calls;
  std::istringstream stream(std::string(without(text, "<|python_tag|>")));
  try {
    do {
      json value;
      stream >> value;
      const auto call = call_of(value);
      if (!call) return {};
      calls.push_back(*call);
      stream >> std::ws;
    } while (stream.peek() == ';' && stream.get());
  } catch (const json::exception&) {
    return {};
  }
  if (stream.peek() != std::istringstream::traits_type::eof()) return {};
  return calls;
}

// NAME[ARGS]{...}, or NAME{...}
std::optional<WrittenCall> read_named(std::string_view text) {
  const std::size_t brace = text.find('{');
  if (brace == text.npos) return {};
  std::string_view name = trimmed(text.substr(0, brace));
  name = trimmed(name.substr(0, name.find('[')));
  const json arguments = json::parse(text.substr(brace), nullptr, false);
  if (name.empty() || !arguments.is_object()) return {};
  return WrittenCall{std::string(name), dumped(arguments)};
}

// A list of objects behind the mark, or a name with arguments behind each.
Calls read_marked(std::string_view text) {
  constexpr std::string_view mark = "[TOOL_CALLS]";
  text = without(text, mark);
  std::vector<WrittenCall> calls;
  if (text.starts_with('[')) {
    const json list = json::parse(text, nullptr, false);
    if (!list.is_array() || list.empty()) return {};
    for (const json& one : list) {
      const auto call = call_of(one);
      if (!call) return {};
      calls.push_back(*call);
    }
    return calls;
  }
  for (;;) {
    const std::size_t next = text.find(mark);
    const auto call = read_named(trimmed(text.substr(0, next)));
    if (!call) return {};
    calls.push_back(*call);
    if (next == text.npos) return calls;
    text = trimmed(text.substr(next + mark.size()));
  }
}

// The first that a template holds counts.
const std::array<ToolForm, 4> forms = {{
    // Hermes, Qwen
    {"<tool_call>",
     {"<tool_call>"},
     "</tool_call>",
     false,
     "<tool_call>\n",
     "\n</tool_call>",
     "arguments",
     read_tagged},
    // Mistral
    {"[TOOL_CALLS]", {"[TOOL_CALLS]"}, "", false, "[TOOL_CALLS][", "]", "arguments", read_marked},
    // Llama 3.1, Llama 3.2
    {"<|python_tag|>", {"<|python_tag|>", "{"}, "", true, "", "", "parameters", read_objects},
    {"\"parameters\": dictionary",
     {"<|python_tag|>", "{"},
     "",
     true,
     "",
     "",
     "parameters",
     read_objects},
}};

}  // namespace

const ToolForm* tool_form_of(std::string_view template_text) {
  const auto found = std::ranges::find_if(forms, [&](const ToolForm& form) {
    return template_text.find(form.in_template) != template_text.npos;
  });
  return found == forms.end() ? nullptr : &*found;
}

bool OfferedTools::has(std::string_view name) const {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> tool_names(const json& tools) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const json& tool = tools[i];
    const bool function = tool.is_object() && tool.value("type", json("function")) == "function" &&
                          tool.contains("function") && tool["function"].is_object() &&
                          tool["function"].contains("name") && tool["function"]["name"].is_string();
    if (!function)
      throw bad_request(
          fmt::format("'tools[{}]' must be {{\"type\": \"function\", \"function\": {{\"name\", "
                      "...}}}}",
                      i),
          "tools");
    names.push_back(tool["function"]["name"].get<std::string>());
  }
  return names;
}

}  // namespace triax
