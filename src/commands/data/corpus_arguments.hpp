// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of the commands that read a corpus. Internal to src/commands/data.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/documents/document_reader.hpp"
#include "src/commands/options/context.hpp"

namespace triax {

struct CorpusArguments {
  std::vector<std::string> inputs;
  DocumentOptions documents;
  std::int64_t skip_bad = 0;
  std::string invalid = "error", input_format;
  bool document_per_line = false;
  int workers = 0;  // 0: this rank's share of the cores

  template <class Options>
  void apply_to(Options& options) const {
    options.inputs = inputs;
    options.documents = documents;
    options.documents.invalid = invalid_text();
    options.input_format = format();
    options.skip_bad = skip_bad;
  }

 private:
  InvalidText invalid_text() const;
  std::optional<DocumentFormat> format() const;
};

/// Adds IN... and the options. `arguments` outlives the command.
void add_corpus(CLI::App* command, CorpusArguments& arguments);

/// Collective. Threads of this rank: what is asked for, or its share of the node's cores.
int workers_of(const CorpusArguments& arguments, const MpiSession& session);

}  // namespace triax
