// SPDX-License-Identifier: Apache-2.0
// triax data tokenize: options of Megatron-LM's preprocess_data.py where they mean the same.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "kernels/base/check.hpp"
#include "kernels/base/process/say.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/data/corpus_arguments.hpp"
#include "src/commands/data/data_commands.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/data/tokenize/tokenize.hpp"

namespace triax {
namespace {

constexpr double most = 9e18;

struct Arguments {
  TokenizeOptions options;
  CorpusArguments corpus;
  std::string tokenizer, format = "hdf5", end_token;
  bool no_end = false, append_end = false, split_sentences = false;
  std::optional<std::uint64_t> shuffle_seed;
};

std::optional<std::int32_t> end_token_of(const Arguments& arguments, const Tokenizer& tokenizer) {
  if (arguments.no_end) return {};
  if (!arguments.end_token.empty()) {
    const auto id = tokenizer.id_of(arguments.end_token);
    if (!id)
      throw UsageError(fmt::format("the tokenizer has no token {}", arguments.end_token), {},
                       "Set --end-token to a token of its vocabulary");
    return id;
  }
  const auto id = tokenizer.end_token();
  if (!id)
    throw UsageError("the tokenizer names no token that ends a document",
                     "each document ends with it, so that a model learns where texts end",
                     "Set --end-token TOKEN, or --no-append-eod to join documents without one");
  return id;
}

TokenizeOptions options_of(const Arguments& arguments) {
  if (arguments.split_sentences)
    throw UsageError("--split-sentences is not for causal models",
                     "it makes one entry per sentence, for BERT's pairs of sentences; a causal "
                     "model is trained on whole documents",
                     "Leave it out");
  TokenizeOptions options = arguments.options;
  arguments.corpus.apply_to(options);
  options.tokenizer = named_tokenizer(arguments.tokenizer);
  options.end_token = end_token_of(arguments, *options.tokenizer);
  options.format = token_format(arguments.format).value();
  options.shuffle_seed = arguments.shuffle_seed;
  return options;
}

std::string summary(const TokenizeReport& report, double seconds) {
  std::string text = fmt::format("{}: ", fmt::join(report.files, ", "));
  if (report.done_before) return text + "made before from the same files with the same options\n";
  text += fmt::format("{} documents, {} tokens of {:.2f} GB in {:.1f} s, {:.1f} MB/s\n",
                      report.documents, report.tokens, static_cast<double>(report.bytes) / 1e9,
                      seconds, static_cast<double>(report.bytes) / 1e6 / seconds);
  const auto line = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format("  {} {}\n", count, what);
  };
  line(report.validation_documents, "of the documents are the validation set");
  line(report.duplicates, "documents left out as copies of others");
  line(report.too_short, "documents left out as shorter than --min-length");
  line(report.invalid, "documents left out for text that is not UTF-8");
  line(report.replaced, "sequences that are not UTF-8 replaced by U+FFFD");
  line(report.bad_lines, "bad lines passed over");
  if (report.resumed_units > 0)
    text += fmt::format("  {} of {} units were encoded before the restart\n", report.resumed_units,
                        report.units);
  return text;
}

void tokenize_files(const Arguments& arguments, const MpiSession& session) {
  const auto begin = std::chrono::steady_clock::now();
  const Ranks ranks(MPI_COMM_WORLD);
  TokenizeOptions options;
  agreed(ranks, [&] { options = options_of(arguments); });
  options.workers = workers_of(arguments.corpus, session);
  const TokenizeReport report = tokenize(options, ranks);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (session.rank() == 0) print_out(summary(report, seconds.count()));
}

void add_output(CLI::App* command, Arguments& arguments) {
  TokenizeOptions& options = arguments.options;
  command->add_option("--out", options.out, "Prefix of the token files' names")
      ->type_name("PREFIX")
      ->required();
  command
      ->add_option("--format", arguments.format,
                   "hdf5 (PREFIX.h5), megatron (PREFIX.bin, .idx) or llmc (PREFIX_000000.bin, ...)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"hdf5", "megatron", "llmc"}))
      ->capture_default_str();
  command->add_option("--shard-tokens", options.shard_tokens, "Tokens of a shard (llmc)")
      ->type_name("N")
      ->check(whole_number(1, 2147483647))
      ->capture_default_str();
  CLI::Option* without =
      command->add_flag("--no-append-eod", arguments.no_end, "No end token behind each document");
  // Megatron-LM's option, which is the default here.
  command->add_flag("--append-eod", arguments.append_end)->group("")->excludes(without);
  command->add_option("--end-token", arguments.end_token, "That token (default: the tokenizer's)")
      ->type_name("TOKEN");
  command->add_flag("--special-tokens", options.special_tokens_in_text,
                    "Special tokens that the text spells are taken for them");
}

void add_selection(CLI::App* command, Arguments& arguments) {
  TokenizeOptions& options = arguments.options;
  command->add_option("--min-length", options.min_length, "Leave out documents of fewer tokens")
      ->type_name("N")
      ->check(whole_number(0, most))
      ->capture_default_str();
  command
      ->add_option("--max-documents", options.max_documents, "Keep the first N documents; 0: all")
      ->type_name("N")
      ->check(whole_number(0, most))
      ->capture_default_str();
  command->add_flag("--deduplicate", options.deduplicate,
                    "Keep the first of documents that have the same text");
  command->add_option("--shuffle-documents", arguments.shuffle_seed, "Shuffle the documents")
      ->type_name("SEED")
      ->check(whole_number(0, most));
  command
      ->add_option("--validation-fraction", options.validation_fraction,
                   "Share of the documents that goes to PREFIX_val, by the hash of their text; the "
                   "others go to PREFIX_train")
      ->type_name("F")
      ->check(number(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--split-sentences", arguments.split_sentences)->group("");
}

}  // namespace

void add_data_tokenize(CLI::App& data, const MpiSession& session) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = data.add_subcommand(
      "tokenize", "Encode text and JSON lines into token files, on all ranks and cores.");
  command->footer(
      "  triax data tokenize corpus/ --tokenizer gpt2/ --out web\n"
      "  mpiexec -n 8 triax data tokenize 'web/*.jsonl.zst' --tokenizer llama3/ --out web \\\n"
      "    --deduplicate --shuffle-documents 1 --validation-fraction 0.001\n"
      "The files' bytes do not depend on ranks and threads. Killed, the same command goes on with "
      "what\nis in PREFIX.tokenize. Exit status: 0 done; 2 wrong input files or options; 3 a "
      "failure while running.");
  add_corpus(command, arguments->corpus);
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "A tokenizer's directory or file, gpt2:DIR, a checkpoint that has one, or bytes")
      ->type_name("DIR")
      ->required();
  add_output(command, *arguments);
  add_selection(command, *arguments);
  command->callback([arguments, &session] {
    check_launch(MPI_COMM_WORLD);
    tokenize_files(*arguments, session);
  });
}

}  // namespace triax
