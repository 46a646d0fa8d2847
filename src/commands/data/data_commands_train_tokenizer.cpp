// SPDX-License-Identifier: Apache-2.0
// triax data train-tokenizer: options of BpeTrainer of Hugging Face tokenizers by their names.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "src/comm/launch/launcher.hpp"
#include "src/commands/data/corpus_arguments.hpp"
#include "src/commands/data/data_commands.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/data/bpe_training/train_tokenizer.hpp"
#include "src/launch/output_target.hpp"
#include "src/text/split/word_patterns.hpp"

namespace triax {
namespace {

struct Arguments {
  TrainTokenizerOptions options;
  CorpusArguments corpus;
};

std::string summary(const TrainTokenizerReport& report, const TrainTokenizerOptions& options) {
  const auto bytes = static_cast<double>(report.bytes);
  std::string text = fmt::format(
      "{}/tokenizer.json: {} entries, {} merges of {} different words; {} documents, {:.2f} GB in "
      "{:.1f} s ({:.1f} MB/s), merges in {:.1f} s\n",
      options.out, report.vocabulary, report.merges, report.words, report.documents, bytes / 1e9,
      report.count_seconds, bytes / 1e6 / report.count_seconds, report.merge_seconds);
  const auto line = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format("  {} {}\n", count, what);
  };
  line(options.bpe.vocabulary - report.vocabulary,
       "entries fewer than --vocab-size: no other pair is frequent enough");
  line(report.invalid, "documents left out for text that is not UTF-8");
  line(report.replaced, "sequences that are not UTF-8 replaced by U+FFFD");
  line(report.bad_lines, "bad lines passed over");
  return text;
}

void train(const Arguments& arguments, const MpiSession& session) {
  const Ranks ranks(MPI_COMM_WORLD);
  TrainTokenizerOptions options = arguments.options;
  arguments.corpus.apply_to(options);
  options.workers = workers_of(arguments.corpus, session);
  std::optional<OutputTarget> target;
  agreed(ranks, [&] {
    check_options(options);
    if (session.rank() == 0) target.emplace(options.out, OutputTarget::Kind::directory);
  });
  const TrainTokenizerReport report = train_tokenizer(options, ranks);
  if (session.rank() == 0) print_out(summary(report, options));
}

void add_training(CLI::App* command, Arguments& arguments) {
  TrainTokenizerOptions& options = arguments.options;
  constexpr double most = 9e18;
  std::vector<std::string> patterns;
  for (const WordPattern& row : word_patterns()) patterns.emplace_back(row.name);
  command->add_option("--vocab-size", options.bpe.vocabulary, "Entries, special tokens included")
      ->type_name("N")
      ->required()
      ->check(whole_number(1, 1 << 24));
  command->add_option("--out", options.out, "Directory of tokenizer.json and its configuration")
      ->type_name("DIR")
      ->required();
  command->add_option("--pattern", options.pattern, "Whose pattern cuts texts into words")
      ->type_name("NAME")
      ->check(CLI::IsMember(patterns))
      ->capture_default_str();
  command
      ->add_option("--special", options.bpe.special,
                   "Special tokens, the first ids; the first one ends a document")
      ->type_name("TOKEN")
      ->capture_default_str();
  command
      ->add_option("--min-frequency", options.bpe.min_frequency,
                   "Merge pairs that occur at least N times")
      ->type_name("N")
      ->check(whole_number(0, most))
      ->capture_default_str();
  command
      ->add_option("--max-token-length", options.bpe.max_token_length,
                   "Tokens of three and more bytes are shorter than N bytes")
      ->type_name("N")
      ->check(whole_number(1, most));
  command->add_flag("--overwrite", options.overwrite, "Replace the files of --out");
}

}  // namespace

void add_data_train_tokenizer(CLI::App& data, const MpiSession& session) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = data.add_subcommand(
      "train-tokenizer", "Train a byte-level BPE tokenizer on text, on all ranks and cores.");
  command->footer(
      "  triax data train-tokenizer corpus/ --vocab-size 32768 --out tok\n"
      "  mpiexec -n 4 triax data train-tokenizer 'web/*.jsonl.zst' --vocab-size 65536 --out tok "
      "\\\n"
      "    --pattern llama3 --special '<|end|>' '<|user|>' '<|assistant|>'\n"
      "  triax data tokenize corpus/ --tokenizer tok --out corpus     # and use it\n"
      "The merges are those of BpeTrainer of Hugging Face tokenizers for the same documents; they "
      "do "
      "not\ndepend on ranks and threads. Exit status: 0 done; 2 wrong input files or options; 3 a "
      "failure while running.");
  add_corpus(command, arguments->corpus);
  add_training(command, *arguments);
  command->callback([arguments, &session] {
    check_launch(MPI_COMM_WORLD);
    train(*arguments, session);
  });
}

}  // namespace triax
