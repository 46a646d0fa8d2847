// SPDX-License-Identifier: Apache-2.0
#include "src/commands/tokenizer/tokenizer_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"
#include "kernels/base/utf8.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/commands/tokenizer/chat_command.hpp"

namespace triax {
namespace {

using nlohmann::json;

struct Arguments {
  std::string path;
  std::optional<std::string> text;
  std::vector<std::string> ids;
  EncodeOptions encode;
  bool skip_special = false, json = false, jsonl = false;
};

std::string standard_input() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

// Answers each line of standard input, a JSON value, with a line of JSON.
void answer_lines(const std::function<json(const json&)>& answer) {
  std::string line;
  for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
    const json value = json::parse(line, nullptr, false);
    if (value.is_discarded())
      throw UsageError(fmt::format("line {} of standard input is not JSON", number), {},
                       "Give one JSON value per line");
    print_out(answer(value).dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  }
}

std::vector<std::int32_t> ids_of(Tokenizer::Encoder& encoder, const std::string& text,
                                 const EncodeOptions& options) {
  if (!is_utf8(text))
    throw UsageError("the text is not UTF-8", {}, "Convert it, for example with iconv -t UTF-8");
  std::vector<std::int32_t> ids;
  encoder.encode(text, options, ids);
  return ids;
}

void encode(const Arguments& arguments) {
  const auto tokenizer = open_named_tokenizer(arguments.path).tokenizer;
  const auto encoder = tokenizer->encoder();
  if (arguments.jsonl)
    return answer_lines([&](const json& line) -> json {
      if (!line.is_string())
        throw UsageError("a line of standard input is not a JSON string", {}, "Quote each text");
      return ids_of(*encoder, line.get<std::string>(), arguments.encode);
    });
  const std::string text = arguments.text ? *arguments.text : standard_input();
  const std::vector<std::int32_t> ids = ids_of(*encoder, text, arguments.encode);
  if (!arguments.json) return print_out(fmt::format("{}\n", fmt::join(ids, " ")));
  json tokens = json::array();
  for (const std::int32_t id : ids) tokens.push_back(tokenizer->token(id));
  print_out(
      json{{"ids", ids}, {"tokens", tokens}}.dump(-1, ' ', false, json::error_handler_t::replace) +
      "\n");
}

std::int32_t id_of(const std::string& word) {
  std::int32_t id = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, id);
  if (error != std::errc{} || at != end)
    throw UsageError(fmt::format("\"{}\" is not a token id", word), {},
                     "Give ids as whole numbers with spaces between them");
  return id;
}

void decode(const Arguments& arguments) {
  const auto tokenizer = open_named_tokenizer(arguments.path).tokenizer;
  if (arguments.jsonl)
    return answer_lines([&](const json& line) -> json {
      if (!line.is_array() || !std::ranges::all_of(line, [](const json& id) {
            return id.is_number_integer() && id >= 0 && id < 1 << 30;
          }))
        throw UsageError("a line of standard input is not an array of ids", {},
                         "Give one array per line, as [15496, 995]");
      return tokenizer->decode(line.get<std::vector<std::int32_t>>(), arguments.skip_special);
    });
  std::vector<std::string> words = arguments.ids;
  if (words.empty())
    words.assign(std::istream_iterator<std::string>(std::cin),
                 std::istream_iterator<std::string>());
  std::vector<std::int32_t> ids;
  for (const std::string& word : words) ids.push_back(id_of(word));
  const std::string text = tokenizer->decode(ids, arguments.skip_special);
  print_out(arguments.json
                ? json{{"text", text}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"
                : text);
}

json token_json(const Tokenizer& tokenizer, const std::optional<std::string>& token) {
  if (!token) return nullptr;
  const auto id = tokenizer.id_of(*token);
  return {{"token", *token}, {"id", id ? json(*id) : json(nullptr)}};
}

std::string token_text(const Tokenizer& tokenizer, const std::optional<std::string>& token) {
  if (!token) return "none";
  const auto id = tokenizer.id_of(*token);
  return id ? fmt::format("{} ({})", *token, *id) : fmt::format("{} (not in it)", *token);
}

std::string tokens_text(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  std::string text;
  for (const std::int32_t id : ids)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", tokenizer.token(id), id);
  return text.empty() ? "nothing" : text;
}

void inspect(const Arguments& arguments) {
  const OpenedTokenizer opened = open_named_tokenizer(arguments.path);
  const Tokenizer& tokenizer = *opened.tokenizer;
  if (arguments.json)
    return print_out(json{{"file", opened.file},
                          {"format", opened.format},
                          {"vocabulary", tokenizer.vocabulary()},
                          {"added_tokens", opened.added},
                          {"special_tokens", opened.special},
                          {"begin", token_json(tokenizer, opened.config.begin)},
                          {"end", token_json(tokenizer, opened.config.end)},
                          {"pad", token_json(tokenizer, opened.config.pad)},
                          {"unknown", token_json(tokenizer, opened.config.unk)},
                          {"put_before_a_text", opened.before},
                          {"put_after_a_text", opened.after},
                          {"fingerprint", tokenizer.fingerprint()}}
                         .dump(2) +
                     "\n");
  print_out(fmt::format(
      "{}\n  format        {}\n  vocabulary    {} tokens; {} added, {} of them special\n"
      "  begin         {}\n  end           {}\n  pad           {}\n  unknown       {}\n"
      "  around texts  {} before, {} after (with --add-special)\n  fingerprint   {}\n",
      opened.file, opened.format, tokenizer.vocabulary(), opened.added, opened.special,
      token_text(tokenizer, opened.config.begin), token_text(tokenizer, opened.config.end),
      token_text(tokenizer, opened.config.pad), token_text(tokenizer, opened.config.unk),
      tokens_text(tokenizer, opened.before), tokens_text(tokenizer, opened.after),
      tokenizer.fingerprint()));
}

CLI::App* add(CLI::App& command, const char* name, const char* description,
              const std::shared_ptr<Arguments>& arguments, void (*work)(const Arguments&)) {
  CLI::App* sub = command.add_subcommand(name, description);
  sub->add_option("PATH", arguments->path,
                  "Directory with a tokenizer's files, one such file, gpt2:DIR, or a checkpoint")
      ->type_name("")
      ->required();
  sub->add_flag("--json", arguments->json, "Print JSON");
  sub->callback([arguments, work] { work(*arguments); });
  return sub;
}

}  // namespace

void add_tokenizer(CLI::App& app, CommandContext&) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("tokenizer", "Look at a tokenizer, and encode and decode with it.");
  command->require_subcommand(1);
  command->footer(
      "  triax tokenizer inspect meta-llama/Llama-3.2-1B\n"
      "  triax tokenizer inspect runs/demo/checkpoints/step-000100.h5\n"
      "  triax tokenizer encode gpt2 \"Hello world\"       # 15496 995\n"
      "  triax tokenizer decode gpt2 15496 995\n"
      "  triax tokenizer chat Qwen/Qwen3-0.6B messages.json --generation-prompt");
  add(*command, "inspect", "Show format, vocabulary and special tokens.", arguments, inspect);
  CLI::App* encoding = add(*command, "encode", "Text to token ids.", arguments, encode);
  encoding->add_option("TEXT", arguments->text, "The text (default: standard input)")
      ->type_name("");
  encoding->add_flag("--special", arguments->encode.special_tokens_in_text,
                     "Take special tokens that the text names for them (else they are split)");
  encoding->add_flag("--add-special", arguments->encode.add_special_tokens,
                     "Put the tokens around the text that the tokenizer asks for");
  encoding->add_flag("--jsonl", arguments->jsonl,
                     "Read a JSON string per line, print an array per line");
  CLI::App* decoding = add(*command, "decode", "Token ids to text.", arguments, decode);
  decoding->add_option("IDS", arguments->ids, "Token ids (default: standard input)")->type_name("");
  decoding->add_flag("--skip-special", arguments->skip_special, "Leave special tokens out");
  decoding->add_flag("--jsonl", arguments->jsonl,
                     "Read an array per line, print a JSON string per line");
  add_tokenizer_chat(*command);
}

}  // namespace triax
