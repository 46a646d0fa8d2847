// SPDX-License-Identifier: Apache-2.0
#include "src/commands/tokenizer/chat_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "io/files/mapped_file.hpp"
#include "kernels/base/check.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr int deepest = 1000;  // nested arrays and objects; templates take fewer

struct Arguments {
  std::string path, messages, tools, file, name, date;
  std::vector<std::string> variables;
  bool generation_prompt = false, ids = false, json = false;
};

std::string text_of_file(const std::string& path) {
  if (path.empty())
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  const MappedFile file(path);
  std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  file.check_length();
  return text;
}

ordered_json json_of_file(const std::string& path) {
  const std::string name = path.empty() ? "standard input" : path;
  const auto is_flat = [&](int depth, ordered_json::parse_event_t, ordered_json&) {
    if (depth > deepest)
      throw UsageError(fmt::format("{} has values nested deeper than {} levels", name, deepest), {},
                       "Give flat values");
    return true;
  };
  try {
    return ordered_json::parse(text_of_file(path), is_flat);
  } catch (const ordered_json::exception& error) {
    throw UsageError(name + " is not JSON", error.what(),
                     "Give an array of messages, or an object with messages, tools and variables");
  }
}

// An array of messages; or an object with `messages`, whose other keys are variables.
Conversation conversation_of(ordered_json json) {
  Conversation conversation;
  if (!json.is_object()) {
    conversation.messages = std::move(json);
    return conversation;
  }
  conversation.variables = ordered_json::object();
  for (const auto& [key, value] : json.items()) {
    if (key == "messages")
      conversation.messages = value;
    else if (key == "tools")
      conversation.tools = value;
    else if (key == "documents")
      conversation.documents = value;
    else
      conversation.variables[key] = value;
  }
  return conversation;
}

// NAME=VALUE: JSON, or a text where it is none.
void set_variable(Conversation& conversation, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("--var {} sets nothing", setting), {}, "Write --var NAME=VALUE");
  const std::string value = setting.substr(equals + 1);
  ordered_json json = ordered_json::parse(value, nullptr, false);
  conversation.variables[setting.substr(0, equals)] =
      json.is_discarded() ? ordered_json(value) : json;
}

void print_ids(const Arguments& arguments, const jinja::Rendered& rendered) {
  const auto tokenizer = open_named_tokenizer(arguments.path).tokenizer;
  std::vector<std::int32_t> ids;
  tokenizer->encoder()->encode(rendered.text,
                               {.special_tokens_in_text = true, .add_special_tokens = false}, ids);
  if (!arguments.json) return print_out(fmt::format("{}\n", fmt::join(ids, " ")));
  ordered_json spans = ordered_json::array();
  for (const jinja::TextSpan& span : rendered.generated) spans.push_back({span.begin, span.end});
  print_out(ordered_json{{"text", rendered.text}, {"ids", ids}, {"generated", spans}}.dump() +
            "\n");
}

void chat(const Arguments& arguments) {
  const TokenizerFiles files = named_tokenizer_files(arguments.path);
  const ChatTemplates templates =
      arguments.file.empty() ? ChatTemplates(files) : ChatTemplates(arguments.file, files);
  Conversation conversation = conversation_of(json_of_file(arguments.messages));
  if (!arguments.tools.empty()) conversation.tools = json_of_file(arguments.tools);
  for (const std::string& variable : arguments.variables) set_variable(conversation, variable);
  conversation.add_generation_prompt =
      conversation.add_generation_prompt || arguments.generation_prompt;
  const jinja::Clock clock =
      arguments.date.empty() ? jinja::clock_now() : jinja::parse_clock(arguments.date, "--date");
  const jinja::Rendered rendered = templates.render(conversation, clock, arguments.name);
  if (arguments.ids || arguments.json) return print_ids(arguments, rendered);
  print_out(rendered.text);
}

}  // namespace

void add_tokenizer_chat(CLI::App& command) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* chats = command.add_subcommand("chat", "Messages through the model's chat template.");
  const auto option = [&](const char* name, auto& value, const char* description) {
    return chats->add_option(name, value, description)->type_name("");
  };
  option("PATH", arguments->path,
         "Directory with a tokenizer and its chat template, or a checkpoint")
      ->required();
  option("MESSAGES", arguments->messages,
         "JSON: an array of messages, or an object with messages, tools and variables (default: "
         "standard input)");
  option("--tools", arguments->tools, "JSON file with an array of tools");
  option("--template", arguments->file,
         "File with the template, or the name of one as chatml (default: the directory's)");
  option("--name", arguments->name,
         "Template among several (default: tool_use with tools, else default)");
  option("--date", arguments->date, "Date that the template sees, as 2026-01-31 (default: now)");
  option("--var", arguments->variables,
         "Variable of the template, as enable_thinking=false; repeatable")
      ->allow_extra_args(false);
  chats->add_flag("--generation-prompt", arguments->generation_prompt,
                  "End with the beginning of the assistant's answer");
  chats->add_flag("--ids", arguments->ids, "Print token ids, not the text");
  chats->add_flag("--json", arguments->json,
                  "Print text, ids and the spans of {% generation %} in bytes");
  chats->callback([arguments] { chat(*arguments); });
}

}  // namespace triax
