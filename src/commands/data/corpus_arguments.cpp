// SPDX-License-Identifier: Apache-2.0
#include "src/commands/data/corpus_arguments.hpp"

#include <CLI/CLI.hpp>

#include "src/comm/launch/launcher.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/launch/threads.hpp"

namespace triax {
namespace {

constexpr double most = 9e18;

}  // namespace

InvalidText CorpusArguments::invalid_text() const {
  if (invalid == "replace") return InvalidText::replace;
  return invalid == "skip" ? InvalidText::skip : InvalidText::error;
}

std::optional<DocumentFormat> CorpusArguments::format() const {
  if (document_per_line) return DocumentFormat::lines;
  if (input_format == "text") return DocumentFormat::text;
  if (input_format == "json") return DocumentFormat::json;
  return {};
}

void add_corpus(CLI::App* command, CorpusArguments& arguments) {
  command
      ->add_option(
          "IN", arguments.inputs,
          "Files, directories and patterns: .txt (a document each), .jsonl (one per line), "
          "also .gz and .zst")
      ->type_name("")
      ->required();
  command
      ->add_option(
          "--json-keys,--field", arguments.documents.keys,
          "Keys of the text in JSON lines (default: text); the strings of several are joined")
      ->type_name("KEY");
  command
      ->add_option("--join", arguments.documents.join,
                   "Text between the strings of --json-keys (default: a newline)")
      ->type_name("TEXT");
  command
      ->add_option("--input-format", arguments.input_format,
                   "text or json, whatever the names of the files are")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}));
  command->add_flag("--document-per-line", arguments.document_per_line,
                    "Each line of a text file is a document");
  command
      ->add_option("--invalid", arguments.invalid,
                   "Text that is not UTF-8: error, replace (by U+FFFD) or skip (its document)")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"error", "replace", "skip"}))
      ->capture_default_str();
  command
      ->add_option("--skip-bad", arguments.skip_bad,
                   "Pass over at most N lines that are not JSON, or have no such key")
      ->type_name("N")
      ->check(whole_number(0, most))
      ->capture_default_str();
  command
      ->add_option("--workers", arguments.workers,
                   "Threads per rank (default: its share of the cores)")
      ->type_name("N")
      ->check(whole_number(1, 4096));
}

int workers_of(const CorpusArguments& arguments, const MpiSession& session) {
  if (arguments.workers > 0) return arguments.workers;
  GridShape shape;
  shape.data = session.size();
  constexpr double timeout = 120.0;
  return threads_of_rank(ProcessGrid(MPI_COMM_WORLD, shape, {}, timeout, MemorySpace::host));
}

}  // namespace triax
