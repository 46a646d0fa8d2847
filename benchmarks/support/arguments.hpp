#pragma once
// What a benchmark is told on its command line.
#include <CLI/CLI.hpp>
#include <optional>

namespace triax::benchmark {

/// Parses the command line. What the program ends with, where it shall: 0 after --help, 2 after a
/// mistake, which is printed where this process `speaks` (one rank of a job does).
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

/// The option --threads, of OwnCores; `threads` stays as it is without.
inline void add_threads(CLI::App& app, int& threads) {
  app.add_option("--threads", threads,
                 "Of a rank (default: as triax train, one on each physical core of its own)")
      ->check(CLI::PositiveNumber);
}

}  // namespace triax::benchmark
