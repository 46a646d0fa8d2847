// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command line of a benchmark.
#include <CLI/CLI.hpp>
#include <optional>

namespace triax::benchmark {

/// Parses the command line. Returns the exit status if the program must end: 0 after --help, 2
/// after a mistake, which is printed if this process `speaks` (one rank of a job does).
inline std::optional<int> refused(CLI::App& app, int argc, const char* const* argv,
                                  bool speaks = true) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (speaks) app.exit(error);
    return error.get_exit_code() == 0 ? 0 : 2;
  }
}

/// Adds the option --threads of OwnCores. `threads` keeps its value without it.
inline void add_threads(CLI::App& app, int& threads) {
  app.add_option("--threads", threads,
                 "Threads per rank (default: as triax train, one per physical core)")
      ->check(CLI::PositiveNumber);
}

}  // namespace triax::benchmark
