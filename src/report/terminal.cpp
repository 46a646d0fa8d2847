// SPDX-License-Identifier: Apache-2.0
#include "src/report/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/report/envelope.hpp"
#include "src/report/html.hpp"
#include "src/report/scale.hpp"

namespace triax {
namespace {

constexpr std::size_t recent = 20;  // steps of a median

double recent_median(const Series& series) {
  if (series.empty()) return 0.0;
  const std::size_t count = std::min(recent, series.y.size());
  std::vector<double> last(series.y.end() - static_cast<std::ptrdiff_t>(count), series.y.end());
  std::ranges::nth_element(last, last.begin() + std::ssize(last) / 2);
  return last[last.size() / 2];
}

// A character of Unicode's braille block, U+2800 and above, in UTF-8.
std::string braille_character(unsigned dots) {
  std::string text = "\xe2";
  text += static_cast<char>(0xa0U + (dots >> 6U));
  text += static_cast<char>(0x80U + (dots & 0x3fU));
  return text;
}

// Dots of a picture, two across and four down in each character.
class Dots {
 public:
  Dots(int columns, int rows)
      : columns_(columns), rows_(rows), dots_(static_cast<std::size_t>(columns * rows)) {}
  int width() const { return 2 * columns_; }
  int height() const { return 4 * rows_; }
  // `y` counts from the top.
  void set(int x, int y) {
    // Bits of the dots by row, for the left and the right column.
    constexpr std::array<std::array<unsigned, 2>, 4> bits = {
        {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}};
    dots_[static_cast<std::size_t>(y / 4 * columns_ + x / 2)] |=
        bits[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
  }
  std::vector<std::string> lines(bool braille) const {
    std::vector<std::string> out;
    for (int row = 0; row < rows_; ++row) {
      std::string line;
      for (int column = 0; column < columns_; ++column) {
        const unsigned dots = dots_[static_cast<std::size_t>(row * columns_ + column)];
        line += braille ? braille_character(dots) : dots != 0 ? "*" : " ";
      }
      out.push_back(line);
    }
    return out;
  }

 private:
  int columns_, rows_;
  std::vector<unsigned> dots_;  // by character
};

std::string progress_text(const RunData& run, int columns) {
  if (run.steps <= 0) return fmt::format("step {}", run.steps_done);
  const double share =
      std::clamp(static_cast<double>(run.steps_done) / static_cast<double>(run.steps), 0.0, 1.0);
  const std::string text = fmt::format("step {} of {} ", run.steps_done, run.steps);
  const int width = std::clamp(columns - static_cast<int>(text.size()) - 8, 4, 50);
  std::string cells(static_cast<std::size_t>(share * width), '=');
  cells.resize(static_cast<std::size_t>(width), ' ');
  return fmt::format("{}[{}] {:.0f}%", text, cells, 100.0 * share);
}

// "running", "done", or for how long nothing has come.
std::string state_text(const RunData& run, double now) {
  const double age = now - run.updated, step = recent_median(run.curve("step_seconds"));
  if (run.ended) return run.steps > 0 && run.steps_done >= run.steps ? "done" : "stopped";
  if (run.curve("loss").empty()) return "no step yet";
  if (run.steps > 0 && run.steps_done >= run.steps) return "all steps made";
  if (age > std::max(30.0, 5.0 * step))
    return fmt::format(
        "no new step for {} (a step takes {:.3g} s): it waits, writes, validates, or "
        "has ended",
        duration_text(age), step);
  return fmt::format("running, {} left", duration_text(seconds_left(run)));
}

std::string numbers_text(const RunData& run) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const char* key) {
    if (const Series& series = run.curve(key); !series.empty())
      parts.push_back(fmt::format("{} {}", name, number_text(series.y.back())));
  };
  add("loss", "loss");
  add("validation", "valid_loss");
  add("gradient norm", "grad_norm");
  add("lr", "lr");
  if (const double rate = recent_median(run.curve("tokens_per_second")); rate > 0.0)
    parts.push_back(fmt::format("{} tokens/s", number_text(rate)));
  if (const double step = recent_median(run.curve("step_seconds")); step > 0.0)
    parts.push_back(fmt::format("{:.3g} s/step", step));
  add("MFU", "mfu");
  if (const Series& memory = run.curve("peak_memory_bytes"); !memory.empty())
    parts.push_back(fmt::format("memory {}", bytes_text(memory.y.back())));
  if (run.skipped > 0) parts.push_back(fmt::format("{} skipped", run.skipped));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The curve with the values of its ends at the left and the steps below.
std::string curve_text(const Series& series, const Screen& screen, int rows) {
  if (series.empty() || rows < 2) return {};
  const auto [low, high] = std::ranges::minmax_element(series.y);
  const Scale scale = scale_for(*low, *high, false);
  constexpr int label = 10;
  const auto lines = plot(series, std::max(10, screen.columns - label - 3), rows, screen.braille,
                          scale.least, scale.most);
  std::string text = "\n";
  for (std::size_t row = 0; row < lines.size(); ++row) {
    const std::string value = row == 0                  ? number_text(scale.most)
                              : row + 1 == lines.size() ? number_text(scale.least)
                                                        : std::string();
    text += fmt::format("{:>{}} |{}\n", value, label, lines[row]);
  }
  const std::string first = fmt::format("step {:.0f}", series.x.front());
  return text +
         fmt::format("{:>{}}  {}{:>{}.0f}\n", "loss", label, first, series.x.back(),
                     std::max(1, screen.columns - label - 3 - static_cast<int>(first.size())));
}

}  // namespace

std::vector<std::string> plot(const Series& series, int columns, int rows, bool braille,
                              double least, double most) {
  Dots dots(columns, rows);
  const Scale scale{least, most, false};
  const auto points = envelope(series, static_cast<std::size_t>(dots.width()));
  const auto y_of = [&](double value) {
    return static_cast<int>(std::lround((1.0 - scale.position(value)) * (dots.height() - 1)));
  };
  int before = -1, x_before = -1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const int x = static_cast<int>(i * static_cast<std::size_t>(dots.width()) / points.size());
    const int y = y_of(points[i].mean);
    if (before >= 0)  // a line from the point before, column by column
      for (int between = x_before + 1; between < x; ++between)
        dots.set(between, before + (y - before) * (between - x_before) / (x - x_before));
    // Steep parts: down or up to the dot beside the one before.
    const int from = before < 0 || x - x_before > 1 || before == y ? y
                     : before < y                                  ? before + 1
                                                                   : before - 1;
    for (int dot = std::min(from, y); dot <= std::max(from, y); ++dot) dots.set(x, dot);
    before = y, x_before = x;
  }
  return dots.lines(braille);
}

double seconds_left(const RunData& run) {
  if (run.steps <= run.steps_done) return 0.0;
  return static_cast<double>(run.steps - run.steps_done) * recent_median(run.curve("step_seconds"));
}

std::string watch_text(const RunData& run, const Screen& screen, double now) {
  std::string text = fmt::format("{}  {}\n{}\n", run.directory, state_text(run, now),
                                 progress_text(run, screen.columns));
  if (const std::string numbers = numbers_text(run); !numbers.empty()) text += numbers + "\n";
  constexpr std::size_t most_events = 4;
  const std::size_t events = std::min(most_events, run.events.size());
  const int used = 8 + static_cast<int>(events + run.notes.size());
  text += curve_text(run.curve("loss"), screen, std::clamp(screen.rows - used, 4, 20));
  for (const std::string& note : run.notes) text += "note: " + note + "\n";
  for (std::size_t i = run.events.size() - events; i < run.events.size(); ++i)
    text += fmt::format("{} step {}: {}{}\n", run.events[i].time, run.events[i].step,
                        run.events[i].kind,
                        run.events[i].text.empty() ? "" : ", " + run.events[i].text);
  return text;
}

}  // namespace triax
