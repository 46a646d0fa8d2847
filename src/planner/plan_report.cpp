// SPDX-License-Identifier: Apache-2.0
#include "src/planner/plan_report.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "src/forecast/plan_size.hpp"
#include "src/planner/parameter_bytes.hpp"
#include "src/planner/verdict.hpp"

namespace triax {
namespace {

double gigabytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / gb;
}

std::string kinds_text(const KindBytes& bytes) {
  std::vector<std::string> texts;
  for (const MemoryKind& kind : memory_kinds)
    if (gigabytes(bytes.*kind.bytes) >= 0.05)
      texts.push_back(fmt::format("{} {:.1f}", kind.name, gigabytes(bytes.*kind.bytes)));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Memory that decides whether a rank fits, and the rest of it.
KindBytes elsewhere(const RankMemory& memory) {
  return memory.space == MemorySpace::device ? memory.host : KindBytes{};
}

std::string schedule_text(const Candidate& c) {
  if (c.pipeline == 1) return "-";
  return c.chunks > 1 ? fmt::format("interleaved {}", c.chunks) : c.schedule();
}

std::string head(const PlanReport& report) {
  const Config& job = report.job.base;
  const Search& search = report.search;
  std::string text = fmt::format(
      "{} of {:.1f}B parameters, {} samples of {} tokens per step, on {} ranks of {} ({} per node, "
      "{:.1f} GB each)\n",
      job.model.architecture, count_parameters(job.model) / 1e9, job.batch.global,
      job.data.sequence_length, report.ranks, report.machine.name, report.machine.ranks_per_node,
      report.machine.memory / gb);
  text += fmt::format(
      "{} layouts: {} do not fit the memory, {} are slower by their least time, {} plans simulated",
      search.layouts, search.too_large, search.slower, search.priced);
  if (search.refused > 0) text += fmt::format(", {} refused by the job", search.refused);
  return text + (search.cut ? "; stopped there: others may be better\n" : "\n");
}

std::string table(const Search& search) {
  std::string text =
      "\n  #  tensor pipeline data  schedule         micro  ZeRO  recompute  offload    step s  "
      "tokens/s   MFU   MFU*  bubble  memory GB\n";
  int number = 0;
  for (const Evaluation& one : search.best) {
    const Candidate& c = one.candidate;
    text += fmt::format(
        "{:>3}  {:>6} {:>8} {:>4}  {:<14} {:>3} x {:<4} {:>4}  {:<9}  {:<9} {:>7.3g} {:>9.4g} "
        "{:>5.1f} {:>6.1f} {:>6.1f}% {:>10.1f}\n",
        ++number, c.tensor, c.pipeline, c.data, schedule_text(c), c.micro, c.accumulation, c.zero,
        name_of(c.recompute), name_of(c.offload).substr(0, 9), one.price.seconds,
        one.price.tokens_per_second(), 100.0 * one.price.utilisation.seen,
        100.0 * one.price.utilisation.square, 100.0 * one.price.bubble,
        gigabytes(one.memory.scarce().total()));
  }
  return text +
         "MFU: model FLOPs over the peak in %, attention counting the keys that a query sees. "
         "MFU*: "
         "all pairs\nof tokens, as Megatron-LM counts ({:.0f} TFLOP/s per rank in the first row). "
         "Recomputation counts in neither.\n";
}

std::string details(const PlanReport& report) {
  const Evaluation& best = report.search.best.front();
  std::string text = fmt::format("\n1: {}\n", best.candidate.text());
  text += fmt::format("   memory of a rank of stage {}, GB: {}\n", best.stage,
                      kinds_text(best.memory.scarce()));
  if (const std::string host = kinds_text(elsewhere(best.memory)); !host.empty())
    text += fmt::format("   host memory of that rank, GB: {}\n", host);
  text += "   sent by a rank per step, GB:";
  for (const Axis axis : all_axes)
    text += fmt::format(" {} {:.2f}", name_of(axis),
                        best.price.bytes[static_cast<std::size_t>(axis)] / gb);
  text +=
      fmt::format("\n   waits: pipeline {:.1f}%, reductions and gathers {:.1f}%, stores {:.1f}%\n",
                  100.0 * best.price.bubble, 100.0 * best.price.data, 100.0 * best.price.store);
  int number = 1;
  for (auto other = report.search.best.begin() + 1; other != report.search.best.end(); ++other)
    text += fmt::format("{}: {}\n", ++number, verdict(*other, best));
  return text;
}

std::string cost_text(const PlanReport& report, double tokens) {
  const RunCost cost = run_cost(report, tokens);
  std::string text = fmt::format("\n{:.4g} tokens: {:.4g} steps, {:.4g} days, {:.4g} device hours",
                                 tokens, cost.steps, cost.days, cost.device_hours);
  if (cost.megawatt_hours > 0.0) text += fmt::format(", {:.4g} MWh", cost.megawatt_hours);
  return text + " (without evaluations, checkpoints and failures)\n";
}

}  // namespace

RunCost run_cost(const PlanReport& report, double tokens) {
  const StepPrice& price = report.search.best.front().price;
  RunCost cost;
  cost.steps = tokens / price.tokens;
  const double hours = cost.steps * price.seconds / 3600.0;
  cost.days = hours / 24.0;
  cost.device_hours = hours * report.ranks;
  cost.megawatt_hours = cost.device_hours * report.machine.watts / 1e6;
  return cost;
}

std::string report_text(const PlanReport& report, double tokens) {
  const Search& search = report.search;
  std::string text = head(report);
  if (search.best.empty()) {
    text += fmt::format("\nNo layout fits. ");
    if (search.least_bytes > 0.0)
      text +=
          fmt::format("The leanest needs {:.1f} GB or more per rank; ", search.least_bytes / gb);
    return text +
           "take more ranks or memory (triax plan --fit says how many), or a smaller batch\n";
  }
  text += fmt::format(fmt::runtime(table(search)),
                      search.best.front().price.utilisation.square_flops / 1e12);
  text += details(report);
  if (tokens > 0.0) text += cost_text(report, tokens);
  return text;
}

}  // namespace triax
