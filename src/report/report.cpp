// SPDX-License-Identifier: Apache-2.0
#include "src/report/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "kernels/base/check.hpp"
#include "kernels/base/html_text.hpp"
#include "src/report/chart.hpp"
#include "src/report/differences.hpp"
#include "src/report/html.hpp"
#include "src/report/memory_bars.hpp"
#include "src/report/page.hpp"
#include "src/report/step_rows.hpp"
#include "src/trace/write_trace.hpp"

namespace triax {
namespace {

constexpr int colors = 6;
constexpr std::size_t most_rows = 8;

std::string section(const std::string& title, const std::string& content) {
  if (content.empty()) return {};
  return fmt::format("<h2>{}</h2>\n{}", html_escaped(title), content);
}

std::string note(const std::string& text) {
  return fmt::format("<p class=\"note\">{}</p>\n", html_escaped(text));
}

std::string charts(const std::vector<RunData>& runs) {
  std::string out;
  for (std::size_t q = 0; q < quantity_count; ++q) {
    const Quantity& quantity = quantities[q];
    Chart chart{quantity.title, quantity.unit, {}};
    for (std::size_t i = 0; i < runs.size(); ++i)
      chart.curves.push_back({runs.size() == 1 ? std::string(quantity.title) : runs[i].name,
                              static_cast<int>(i) % colors, runs[i].curves[q]});
    out += chart_html(chart);
  }
  return out.empty() ? out : fmt::format("<div class=\"charts\">\n{}</div>\n", out);
}

std::string text_at(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// "triax 0.1.0 (3c80d1e) on n1 n2: 8 ranks, data 2 x pipeline 1 x tensor 4, the CPU"
std::string machine_text(const RunData& run) {
  std::string text;
  const auto facts = run.job.is_object() ? run.job.value("triax", nlohmann::ordered_json())
                                         : nlohmann::ordered_json();
  if (facts.is_object()) {
    text = fmt::format("triax {} ({})", text_at(facts, "version"), text_at(facts, "commit"));
    if (const auto hosts = facts.find("hosts"); hosts != facts.end() && hosts->is_array()) {
      text += " on";
      for (const auto& host : *hosts)
        if (host.is_string()) text += " " + host.get<std::string>();
    }
  }
  if (run.start.is_object())
    text += fmt::format("{}{} ranks, {}, {}", text.empty() ? "" : ": ", run.start.value("ranks", 0),
                        text_at(run.start, "grid"), text_at(run.start, "devices"));
  return text;
}

std::string events_html(const RunData& run) {
  if (run.events.empty()) return {};
  HtmlTable table{{"step", "time", "event", ""}, {}};
  for (const RunEvent& event : run.events)
    table.rows.push_back({fmt::format("{}", event.step), event.time, event.kind, event.text});
  return fmt::format("<div class=\"words\">{}</div>", table_html(table));
}

std::string checkpoints_html(const RunData& run) {
  if (run.checkpoints.empty()) return {};
  Chart chart{"Seconds per checkpoint", "s", {{"Seconds per checkpoint", 0, {}}}};
  HtmlTable table{{"step", "seconds", "size", "rate"}, {}};
  for (const CheckpointTime& one : run.checkpoints) {
    chart.curves.front().series.add(static_cast<double>(one.step), one.seconds);
    const bool known = one.bytes > 0.0 && one.seconds > 0.0;
    table.rows.push_back({fmt::format("{}", one.step), number_text(one.seconds),
                          known ? bytes_text(one.bytes) : "",
                          known ? bytes_text(one.bytes / one.seconds) + "/s" : ""});
  }
  // The chart has the same numbers in its own table; sizes stand here alone.
  return fmt::format("<div class=\"charts\">{}</div>{}", chart_html(chart),
                     folded_table("Sizes and rates", table));
}

std::string predicted_html(const RunData& run, const RunTrace& trace,
                           const std::optional<Machine>& machine) {
  const TracedJob job = traced_job(trace, run.directory + "/job.json");
  std::string out = gantt_html(
      "As planned: the same instructions with the run's mean durations, and messages that take no "
      "time",
      predicted_rows(job, replayed(job, trace), most_rows));
  if (machine)
    out += gantt_html(fmt::format("As predicted for the machine {}", machine->name),
                      predicted_rows(job, predicted_by(job, *machine), most_rows));
  return out;
}

// A trace or a job that cannot be read is named, and the rest of the report is made.
std::string trace_html(const RunData& run, const std::optional<Machine>& machine) {
  if (!has_trace(run)) return {};
  std::string out;
  try {
    const RunTrace trace = read_trace(fmt::format("{}/{}", run.directory, trace_file));
    const std::string which =
        trace.ranks.size() > most_rows
            ? fmt::format(", the first {} of {} ranks", most_rows, trace.ranks.size())
            : "";
    out += gantt_html(fmt::format("As it ran: step {}{}", trace.steps.first, which),
                      measured_rows(trace, most_rows));
    out += predicted_html(run, trace, machine);
  } catch (const Error& error) {
    out += note(error.what());
  }
  return out;
}

std::string heading(const std::vector<RunData>& runs) {
  std::string names;
  for (const RunData& run : runs) names += (names.empty() ? "" : ", ") + run.name;
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  std::string out =
      fmt::format("<h1>{}</h1>\n<p class=\"soft\">report of {:%Y-%m-%d %H:%M:%S} UTC</p>\n",
                  html_escaped(names), now);
  for (const RunData& run : runs) {
    out += fmt::format("<p class=\"soft\">{}</p>\n", html_escaped(machine_text(run)));
    for (const std::string& text : run.notes)
      out += note(runs.size() > 1 ? run.name + ": " + text : text);
  }
  return out;
}

std::string job_html(const RunData& run) {
  if (!run.job.is_object()) return {};
  return fmt::format(
      "<details><summary>job.json, every default filled in</summary><pre "
      "tabindex=\"0\">{}</pre></details>\n",
      html_escaped(run.job.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)));
}

}  // namespace

bool has_trace(const RunData& run) {
  std::error_code unknown;
  return std::filesystem::exists(fmt::format("{}/{}", run.directory, trace_file), unknown);
}

std::string report_html(const std::vector<RunData>& runs, const std::optional<Machine>& machine) {
  std::string body = heading(runs);
  body += section("Summary", table_html(summary_table(runs)));
  body += section("Curves", charts(runs));
  if (runs.size() > 1) {
    const HtmlTable table = difference_table(runs);
    body += section("What differs in the jobs",
                    table.rows.empty() ? note("Nothing: the jobs are equal") : table_html(table));
  }
  for (const RunData& run : runs) {
    const std::string behind = runs.size() > 1 ? fmt::format(" ({})", run.name) : "";
    body += section("A step in time" + behind, trace_html(run, machine));
    const std::string memory =
        memory_html(run.memory.is_object()
                        ? fmt::format("Rank {}, which used most", run.memory.value("rank", 0))
                        : "",
                    run.memory);
    body +=
        section("Memory by kind" + behind,
                memory.empty() ? memory : fmt::format("<div class=\"charts\">{}</div>", memory));
    body += section("Checkpoints" + behind, checkpoints_html(run));
    body += section("Events" + behind, events_html(run));
    body += section("Job" + behind, job_html(run));
  }
  return page_html(runs.size() == 1 ? runs.front().name : "runs", body);
}

}  // namespace triax
