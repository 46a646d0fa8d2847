// SPDX-License-Identifier: Apache-2.0
#include "src/commands/data/data_commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/data/files/decode.hpp"
#include "src/data/files/inspect.hpp"
#include "src/data/files/merge.hpp"

namespace triax {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 62;
constexpr std::int64_t shown_tokens = 64;  // of a document in inspect

struct FileArguments {
  std::string path, tokenizer;
  bool json = false;
  DecodeRange range;
  std::int64_t shown = 2;  // documents that inspect decodes
};
using Shared = std::shared_ptr<FileArguments>;

Shared add_file(CLI::App* command) {
  auto arguments = std::make_shared<FileArguments>();
  command
      ->add_option("FILE", arguments->path,
                   "The token file: .h5, .bin or .idx; of shards the first")
      ->type_name("")
      ->required();
  command->add_flag("--json", arguments->json, "Print JSON");
  return arguments;
}

// Text as one line of a terminal.
std::string one_line(const std::string& text, bool whole) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
         (whole ? "" : " ...");
}

void inspect(const FileArguments& arguments) {
  const TokenSet set(arguments.path);
  if (arguments.tokenizer.empty())
    return print_out(inspect_text(set, statistics_of(set), arguments.json));
  const auto tokenizer = named_tokenizer(arguments.tokenizer);
  require_same_tokenizer(set, *tokenizer);
  print_out(inspect_text(set, statistics_of(set), arguments.json));
  if (!arguments.json)
    decode_documents(set, *tokenizer, {.documents = arguments.shown, .most_tokens = shown_tokens},
                     [](std::int64_t number, const std::string& text, bool whole) {
                       print_out(fmt::format("document {}: {}\n", number, one_line(text, whole)));
                     });
}

void decode(const FileArguments& arguments) {
  const TokenSet set(arguments.path);
  const auto tokenizer = named_tokenizer(arguments.tokenizer);
  decode_documents(
      set, *tokenizer, arguments.range, [&](std::int64_t number, const std::string& text, bool) {
        if (!arguments.json) return print_out(text + '\n');
        const nlohmann::ordered_json line = {{"document", number}, {"text", text}};
        print_out(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
      });
}

// Exit status: 3 where the file is damaged.
int verify(const FileArguments& arguments) {
  const TokenSet set(arguments.path);
  if (!arguments.tokenizer.empty())
    require_same_tokenizer(set, *named_tokenizer(arguments.tokenizer));
  const std::vector<std::string> problems = problems_of(set);
  if (arguments.json) {
    const nlohmann::ordered_json out = {{"file", arguments.path},
                                        {"ok", problems.empty()},
                                        {"checksum", set.facts().has_value()},
                                        {"problems", problems}};
    print_out(out.dump(2) + '\n');
  } else if (problems.empty()) {
    print_out(fmt::format("ok: {}, {} tokens{}\n", arguments.path, set.size(),
                          set.facts() ? "" : "; it has no checksum: another program made it"));
  } else {
    print_out(fmt::format("damaged: {}\n", arguments.path));
    for (const std::string& problem : problems) print_out("  " + problem + '\n');
  }
  return problems.empty() ? 0 : run_time_failure;
}

void add_inspect(CLI::App& data, const MpiSession& session) {
  CLI::App* command = data.add_subcommand(
      "inspect", "Numbers of a token file: tokens, documents, their lengths, the ids that occur.");
  command->footer(
      "  triax data inspect corpus.h5 --tokenizer gpt2/    # and its first documents as text");
  const Shared arguments = add_file(command);
  command->add_option("--tokenizer", arguments->tokenizer, "Print the first documents as text")
      ->type_name("DIR");
  command->add_option("--documents", arguments->shown, "Number of them")
      ->type_name("N")
      ->check(whole_number(1, most))
      ->capture_default_str();
  command->callback([arguments, &session] {
    if (session.rank() == 0) inspect(*arguments);
  });
}

void add_decode(CLI::App& data, const MpiSession& session) {
  CLI::App* command = data.add_subcommand("decode", "Print documents of a token file as text.");
  command->footer(
      "  triax data decode corpus.h5 --tokenizer gpt2/ --document 1000 --documents 3\n"
      "With --json each document is a line {\"document\": N, \"text\": ...}.");
  const Shared arguments = add_file(command);
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "What the file was made with: a directory, a file, a checkpoint, or bytes")
      ->type_name("DIR")
      ->required();
  command->add_option("--document", arguments->range.first, "The first document, counted from 0")
      ->type_name("N")
      ->check(whole_number(0, most))
      ->capture_default_str();
  command->add_option("--documents", arguments->range.documents, "Number of documents")
      ->type_name("N")
      ->check(whole_number(1, most / 2))
      ->capture_default_str();
  command->callback([arguments, &session] {
    if (session.rank() == 0) decode(*arguments);
  });
}

void add_verify(CLI::App& data, const MpiSession& session, int& status) {
  CLI::App* command = data.add_subcommand(
      "verify", "Read a token file: its tokens against their checksum, ids, ends of documents.");
  command->footer(
      "Exit status: 0 all is as it was written; 2 it was made by another tokenizer than "
      "--tokenizer; 3\ndamaged, or it cannot be read.");
  const Shared arguments = add_file(command);
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "Check that the file was made with it: a directory, a file, a checkpoint, or "
                   "bytes")
      ->type_name("DIR");
  command->callback([arguments, &session, &status] {
    if (session.rank() == 0) status = verify(*arguments);
  });
}

void add_merge(CLI::App& data, const MpiSession& session) {
  const auto options = std::make_shared<MergeOptions>();
  const auto format = std::make_shared<std::string>();
  CLI::App* command = data.add_subcommand("merge", "Join token files of one tokenizer.");
  command->footer(
      "  triax data merge web.h5 books.h5 --out all          # all.h5\n"
      "  triax data merge web.bin --format hdf5 --out web    # another format");
  command->add_option("FILE", options->files, "Token files, in this order")
      ->type_name("")
      ->required();
  command->add_option("--out", options->out, "Prefix of the new file's name")
      ->type_name("PREFIX")
      ->required();
  command
      ->add_option("--format", *format, "hdf5, megatron or llmc (default: that of the first file)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"hdf5", "megatron", "llmc"}));
  command->add_option("--shard-tokens", options->shard_tokens, "Tokens of a shard (llmc)")
      ->type_name("N")
      ->check(whole_number(1, 2147483647))
      ->capture_default_str();
  command->callback([options, format, &session] {
    if (session.rank() != 0) return;
    options->format = token_format(*format);
    const TokenFacts facts = merge_token_files(*options);
    print_out(fmt::format("{}: {} documents, {} tokens\n",
                          first_file(options->format.value_or(TokenFormat::hdf5), options->out),
                          facts.documents, facts.tokens));
  });
}

}  // namespace

std::shared_ptr<const Tokenizer> named_tokenizer(const std::string& name) {
  return open_named_tokenizer(name).tokenizer;
}

void add_data(CLI::App& app, CommandContext& context) {
  const MpiSession& session = context.session;
  CLI::App* command =
      app.add_subcommand("data", "Make tokenizers and token files of text, and look into them.");
  command->require_subcommand(1);
  add_data_tokenize(*command, session);
  add_data_train_tokenizer(*command, session);
  add_data_show(*command, session);
  add_inspect(*command, session);
  add_decode(*command, session);
  add_merge(*command, session);
  add_verify(*command, session, context.status);
}

}  // namespace triax
