#include "benchmarks/support/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace triax::benchmark {
namespace {

std::string with_prefix(double value, const char* unit) {
  constexpr std::array<const char*, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; std::fabs(value) >= 1000.0 && prefix + 1 < prefixes.size(); ++prefix) value /= 1000.0;
  return fmt::format("{:.3g} {}{}", value, prefixes[prefix], unit);
}

// As Markdown shows it.
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

std::string row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = escaped(cell);
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string head(const std::vector<std::string>& names) {
  return row(names) +
         fmt::format("|{}\n", fmt::join(std::vector<std::string>(names.size(), "---|"), ""));
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
  return fmt::format("{}", fmt::join(texts, ", "));
}

// A case's median, and its range or, of one run, the spread within it.
std::string range_text(const Case& c) {
  if (c.runs.size() == 1) return fmt::format("{:.0f}%", 100.0 * c.median().spread);
  return fmt::format("{} to {}", seconds_text(c.runs.front().seconds),
                     seconds_text(c.runs.back().seconds));
}

const Case* first_of_file(const std::vector<const Case*>& cases, const Case& like) {
  for (const Case* c : cases)
    if (c->file == 0 && c->name == like.name && c->program == like.program) return c;
  return nullptr;
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
  if (least > most) return "";
  return fmt::format("\nFirst losses: {:.6f} to {:.6f}, {:.1e} apart.\n", least, most,
                     (most - least) / least);
}

}  // namespace

std::string seconds_text(double seconds) {
  if (seconds >= 1.0) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string figure_text(const std::string& name, double value) {
  if (name == "tokens_per_second") return fmt::format("{:.0f} tokens/s", value);
  if (name == "flops_per_second") return with_prefix(value, "FLOP/s");
  if (name == "bytes_per_second") return with_prefix(value, "B/s");
  if (name.ends_with("_bytes")) return with_prefix(value, "B");
  return fmt::format("{:.4g}", value);
}

std::string case_table(const std::vector<const Case*>& cases,
                       const std::vector<std::string>& files) {
  const bool several = files.size() > 1;
  std::vector<std::string> names = {"case"};
  if (several) names.emplace_back("file");
  names.insert(names.end(), {"seconds", "spread", "rate", "of the limit"});
  names.emplace_back(several ? "times the first" : "more");
  std::string text = head(names);
  for (const Case* c : cases) {
    std::vector<std::string> cells = {c->name};
    if (several) cells.push_back(files[c->file]);
    const Run& run = c->median();
    cells.insert(cells.end(),
                 {seconds_text(run.seconds), range_text(*c), rate_text(run), fraction_text(run)});
    const Case* first = several ? first_of_file(cases, *c) : nullptr;
    if (!several)
      cells.push_back(more_text(run));
    else
      cells.push_back(
          first == nullptr ? "" : fmt::format("{:.2f}", first->median().seconds / run.seconds));
    text += row(cells);
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
  std::string text = head({"cores", "seconds", "spread", "rate", "efficiency", "case"});
  for (const Case* c : points)
    text += row({fmt::format("{:.0f}", cores(c)), seconds_text(c->median().seconds), range_text(*c),
                 rate_text(c->median()), fmt::format("{:.2f}", rate(c) / cores(c) / of_a_core),
                 c->name});
  return text;
}

}  // namespace triax::benchmark
