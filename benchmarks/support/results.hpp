#pragma once
// The lines that benchmarks print, read back.
#include <string>
#include <utility>
#include <vector>

namespace triax::benchmark {

/// A line: one run of a case.
struct Run {
  double seconds = 0, spread = 0;
  std::vector<std::pair<std::string, double>> figures;  // the other numbers, in the line's order
  std::string slowest;  // host, of what several measured; empty where the line does not say
  /// A figure of this name; `otherwise` where the line has none.
  double figure(const std::string& name, double otherwise = 0.0) const;
  /// The first figure whose name ends in "_per_second"; its name is empty where there is none.
  std::pair<std::string, double> rate() const;
};

/// How many times as long a run takes as another: by their rates where both have the same, for what
/// a case moves may be of another size on another machine.
double times_as_long(const Run& run, const Run& other);

/// What a file says of a case: all its runs.
struct Case {
  std::string benchmark, name, program, series;
  std::string limit;      // what its peak_fraction is of; empty where the line does not say
  std::size_t file = 0;   // of the list
  std::vector<Run> runs;  // fastest first, at least one
  /// The run of median time; of an even number the faster of the two.
  const Run& median() const { return runs[(runs.size() - 1) / 2]; }
};

/// A line of the benchmark "machine": what a program ran on, by name.
struct Machine {
  std::size_t file = 0;
  std::vector<std::pair<std::string, std::string>> facts;
};

/// What files of lines hold.
struct Results {
  std::vector<Case> cases;
  std::vector<Machine> machines;
  std::vector<std::string> refused;  // what and where: lines that are not a benchmark's
};

/// The cases of all files, each file's in the order of their first lines; lines of one file with
/// the same benchmark, case, program, cores and series are runs of one case. A line that is not a
/// benchmark's, as of a job that was cut, is left out, and so is a file without lines.
Results read_results(const std::vector<std::string>& files);

}  // namespace triax::benchmark
