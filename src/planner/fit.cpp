// SPDX-License-Identifier: Apache-2.0
#include "src/planner/fit.hpp"

#include <algorithm>
#include <limits>

#include "src/planner/bounds.hpp"
#include "src/planner/enumerate.hpp"
#include "src/planner/parameter_bytes.hpp"

namespace triax {
namespace {

double bytes_of(const Evaluation& evaluation) {
  return static_cast<double>(evaluation.memory.scarce().total());
}

// The machine with any memory on its GPUs; the host's is what it is.
Machine endless(Machine machine) {
  machine.memory = std::numeric_limits<double>::max();
  return machine;
}

std::optional<Evaluation> leanest_on(const JobToPlan& job, const Machine& machine, int ranks,
                                     bool offload) {
  const Machine unlimited = endless(machine);
  const LayoutEvaluator evaluator(job, unlimited);
  return leanest(enumerate(job.base, unlimited, ranks), job.base, unlimited, offload,
                 [&](const Candidate& one) { return evaluator.evaluate(one); });
}

std::string ranks_text(const JobToPlan& job, const Machine& machine, bool offload) {
  constexpr int most = 1 << 17;
  const char* how = offload ? "with offload to the host" : "without offload";
  const auto found = fewest_ranks(job, machine, offload, most);
  if (!found) return fmt::format("{}: no power of two of ranks up to {} fits\n", how, most);
  return fmt::format("{}: {} ranks of {:.1f} GB, of which {:.1f} GB are needed: {}\n", how,
                     found->candidate.ranks(), machine.memory / gb, bytes_of(*found) / gb,
                     found->candidate.text());
}

std::string memory_text(const JobToPlan& job, const Machine& machine, int ranks, bool offload) {
  const char* how = offload ? "with offload to the host" : "without offload";
  const auto found = leanest_on(job, machine, ranks, offload);
  if (!found) return fmt::format("{}: the job has no layout on {} ranks\n", how, ranks);
  return fmt::format("{}: {:.1f} GB per rank on {} ranks: {}\n", how, bytes_of(*found) / gb, ranks,
                     found->candidate.text());
}

}  // namespace

std::optional<Evaluation> leanest(const std::vector<Candidate>& layouts, const Config& job,
                                  const Machine& machine, bool offload,
                                  const std::function<Evaluation(const Candidate&)>& evaluate) {
  Bounds bounds(job, machine);
  std::vector<std::pair<double, Candidate>> order;
  for (const Candidate& candidate : layouts)
    if (offload == (candidate.offload != Offload::none))
      order.emplace_back(bounds.bytes(candidate), candidate);
  std::ranges::stable_sort(order, {}, &std::pair<double, Candidate>::first);
  std::optional<Evaluation> best;
  constexpr int most = 60;  // layouts looked at
  int looked_at = 0;
  for (const auto& [bytes, candidate] : order) {
    if ((best && bytes >= bytes_of(*best)) || ++looked_at > most) break;
    Evaluation one = evaluate(candidate);
    if (one.outcome == Evaluation::Outcome::priced && (!best || bytes_of(one) < bytes_of(*best)))
      best = std::move(one);
  }
  return best;
}

std::optional<Evaluation> fewest_ranks(const JobToPlan& job, const Machine& machine, bool offload,
                                       int most) {
  Bounds bounds(job.base, machine);
  for (int ranks = 1; ranks <= most; ranks *= 2) {
    bool hope = false;
    for (const Candidate& one : enumerate(job.base, machine, ranks))
      hope |= offload == (one.offload != Offload::none) && bounds.bytes(one) <= machine.memory;
    if (!hope) continue;
    const auto found = leanest_on(job, machine, ranks, offload);
    if (found && bytes_of(*found) <= machine.memory) return found;
  }
  return std::nullopt;
}

std::string fit_text(const JobToPlan& job, const Machine& machine, int ranks) {
  std::string text = "Least memory:\n";
  const bool offloads = machine.space == MemorySpace::device && machine.host_bandwidth > 0.0;
  text += "  " + memory_text(job, machine, ranks, false);
  if (offloads) text += "  " + memory_text(job, machine, ranks, true);
  text += fmt::format("Fewest ranks of {}:\n", machine.name);
  text += "  " + ranks_text(job, machine, false);
  if (offloads) text += "  " + ranks_text(job, machine, true);
  return text;
}

}  // namespace triax
