// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace triax::benchmark {
namespace {

// Rounds to three digits, before a unit is chosen: 999.7 becomes 1000, which has another unit.
double rounded(double value) {
  return std::stod(fmt::format("{:.2e}", value));
}

std::string with_prefix(double value, const char* unit) {
  constexpr std::array<const char*, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  value = rounded(value);
  std::size_t prefix = 0;
  for (; std::fabs(value) >= 1000.0 && prefix + 1 < prefixes.size(); ++prefix) value /= 1000.0;
  return fmt::format("{:.3g} {}{}", value, prefixes[prefix], unit);
}

// Escapes a text for Markdown.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

std::string fraction_text(const Run& run) {
  const double fraction = run.figure("peak_fraction", -1.0);
  return fraction < 0 ? "" : fmt::format("{:.2f}", fraction);
}

std::string rate_text(const Run& run) {
  const auto [name, value] = run.rate();
  return name.empty() ? "" : figure_text(name, value);
}

// The figures that have no column of their own.
std::string more_text(const Run& run) {
  const auto shown = run.rate().first;
  std::vector<std::string> texts;
  for (const auto& [name, value] : run.figures)
    if (name != shown && name != "peak_fraction" && name != "cores")
      texts.push_back(name + " " + figure_text(name, value));
  if (!run.slowest.empty()) texts.push_back("slowest on " + run.slowest);
  return fmt::format("{}", fmt::join(texts, ", "));
}

// A case's median, and its range; for a single run, the spread within it.
std::string range_text(const Case& c) {
  if (c.runs.size() == 1) return fmt::format("{:.0f}%", 100.0 * c.median().spread);
  return fmt::format("{} to {}", seconds_text(c.runs.front().seconds),
                     seconds_text(c.runs.back().seconds));
}

double cores_of(const Case& c) {
  return c.median().figure("cores");
}

bool of_one_name(const Case& a, const Case& b) {
  return a.name == b.name && a.program == b.program;
}

// The case of the first file to compare with: on the same number of cores, or the only one.
const Case* first_of_file(const std::vector<const Case*>& cases, const Case& like) {
  std::vector<const Case*> found;
  for (const Case* c : cases)
    if (c->file == 0 && of_one_name(*c, like)) found.push_back(c);
  for (const Case* c : found)
    if (cores_of(*c) == cores_of(like)) return c;
  return found.size() == 1 ? found.front() : nullptr;
}

// The columns of a table that not all of its cases fill.
struct Columns {
  bool file, cores;
};

std::vector<std::string> names_of(const Columns& columns, const std::string& limit) {
  std::vector<std::string> names = {"case"};
  if (columns.file) names.emplace_back("file");
  if (columns.cores) names.emplace_back("cores");
  names.insert(names.end(), {"seconds", "spread", "rate", "of " + limit});
  names.emplace_back(columns.file ? "times the first" : "more");
  return names;
}

std::vector<std::string> cells_of(const Case& c, const Columns& columns,
                                  const std::vector<std::string>& files, const Case* first) {
  const Run& run = c.median();
  std::vector<std::string> cells = {c.name};
  if (columns.file) cells.push_back(files[c.file]);
  if (columns.cores) cells.push_back(cores_of(c) > 0 ? fmt::format("{:.0f}", cores_of(c)) : "");
  cells.insert(cells.end(),
               {seconds_text(run.seconds), range_text(c), rate_text(run), fraction_text(run)});
  if (!columns.file)
    cells.push_back(more_text(run));
  else if (first != nullptr)
    cells.push_back(fmt::format("{:.2f}", times_as_long(first->median(), run)));
  else
    cells.emplace_back();
  return cells;
}

std::string losses_text(const std::vector<const Case*>& programs) {
  double least = INFINITY, most = -INFINITY;
  for (const Case* c : programs)
    for (const Run& run : c->runs) {
      const double loss = run.figure("first_loss", NAN);
      if (std::isnan(loss)) continue;
      least = std::min(least, loss);
      most = std::max(most, loss);
    }
  if (least > most || least <= 0.0) return "";
  return fmt::format("\nFirst losses: {:.6f} to {:.6f}, {:.1e} apart.\n", least, most,
                     (most - least) / least);
}

}  // namespace

std::string row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = escaped(cell);
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string head(const std::vector<std::string>& names) {
  return row(names) +
         fmt::format("|{}\n", fmt::join(std::vector<std::string>(names.size(), "---|"), ""));
}

std::string seconds_text(double seconds) {
  if (seconds >= 1000.0) return fmt::format("{:.0f} s", seconds);
  const double value = rounded(seconds);
  if (value >= 1.0) return fmt::format("{:.4g} s", value);
  if (value >= 1e-3) return fmt::format("{:.3g} ms", value * 1e3);
  return fmt::format("{:.3g} us", value * 1e6);
}

std::string figure_text(const std::string& name, double value) {
  if (name == "tokens_per_second") return fmt::format("{:.0f} tokens/s", value);
  if (name.ends_with("flops_per_second")) return with_prefix(value, "FLOP/s");
  if (name.ends_with("bytes_per_second")) return with_prefix(value, "B/s");
  if (name.ends_with("_bytes")) return with_prefix(value, "B");
  return fmt::format("{:.4g}", value);
}

std::string limit_of(const std::vector<const Case*>& cases) {
  const std::string& limit = cases.front()->limit;
  const bool common = std::ranges::all_of(cases, [&](const Case* c) { return c->limit == limit; });
  return common && !limit.empty() ? limit : "the limit";
}

std::string case_table(const std::vector<const Case*>& cases,
                       const std::vector<std::string>& files) {
  const Columns columns{files.size() > 1,
                        std::ranges::any_of(cases, [](const Case* c) { return cores_of(*c) > 0; })};
  const std::vector<std::string> names = names_of(columns, limit_of(cases));
  std::string text = head(names);
  for (std::vector<const Case*> left = cases; !left.empty();) {
    const Case& name = *left.front();
    for (std::size_t file = 0; file < files.size(); ++file) {
      bool there = false;
      for (const Case* c : left) {
        if (c->file != file || !of_one_name(*c, name)) continue;
        text += row(cells_of(*c, columns, files, first_of_file(cases, *c)));
        there = true;
      }
      if (there) continue;
      std::vector<std::string> cells(names.size());
      cells[0] = name.name;
      cells[1] = "not in " + files[file];
      text += row(std::move(cells));
    }
    std::erase_if(left, [&](const Case* c) { return of_one_name(*c, name); });
  }
  return text;
}

std::string peer_table(std::vector<const Case*> programs) {
  std::stable_partition(programs.begin(), programs.end(),
                        [](const Case* c) { return c->program == "triax"; });
  const Case& ours = *programs.front();
  std::string text = head({"program", "runs", "seconds", "range", "rate", "memory of a process",
                           fmt::format("time over {}'s", ours.program)});
  for (const Case* c : programs) {
    const Run& run = c->median();
    const double memory = run.figure("peak_memory_bytes");
    text +=
        row({c->program, std::to_string(c->runs.size()), seconds_text(run.seconds), range_text(*c),
             rate_text(run), memory > 0 ? figure_text("peak_memory_bytes", memory) : "",
             fmt::format("{:.2f}", run.seconds / ours.median().seconds)});
  }
  return text + losses_text(programs);
}

std::string scaling_table(std::vector<const Case*> points) {
  const auto cores = [](const Case* c) { return c->median().figure("cores", 1.0); };
  const auto rate = [](const Case* c) { return c->median().rate().second; };
  std::stable_sort(points.begin(), points.end(),
                   [&](const Case* a, const Case* b) { return cores(a) < cores(b); });
  const double of_a_core = rate(points.front()) / cores(points.front());
  const auto efficiency = [&](const Case* c) {
    return of_a_core > 0 && rate(c) > 0 ? fmt::format("{:.2f}", rate(c) / cores(c) / of_a_core)
                                        : "";
  };
  std::string text = head({"cores", "seconds", "spread", "rate", "efficiency", "case"});
  for (const Case* c : points)
    text += row({fmt::format("{:.0f}", cores(c)), seconds_text(c->median().seconds), range_text(*c),
                 rate_text(c->median()), efficiency(c), c->name});
  return text;
}

}  // namespace triax::benchmark
