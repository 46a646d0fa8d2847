// SPDX-License-Identifier: Apache-2.0
#include "src/planner/methods.hpp"

#include <algorithm>
#include <cmath>

#include "src/forecast/plan_size.hpp"
#include "src/planner/parameter_bytes.hpp"
#include "src/state/optimizer/rules/rules.hpp"

namespace triax {
namespace {

constexpr double close = 1.05;  // times within which the simpler method is better

bool data_only(const Candidate& c) {
  return c.tensor == 1 && c.pipeline == 1;
}
bool keeps(const Candidate& c) {
  return c.offload == Offload::none;
}

std::string state_text(const JobToPlan& job, const Machine& machine, int ranks) {
  const double parameters = count_parameters(job.base.model);
  const ParameterBytes bytes = parameter_bytes(job.base);
  const double all = parameters * bytes.whole() / gb, memory = machine.memory / gb;
  std::string text = fmt::format(
      "{:.1f}B parameters with gradients and optimizer state take {:.0f} bytes each, {:.0f} GB in "
      "all. ",
      parameters / 1e9, bytes.whole(), all);
  if (all < memory)
    return text + fmt::format("A rank has {:.0f} GB: each can hold everything.\n", memory);
  if (all < memory * ranks)
    return text + fmt::format(
                      "A rank has {:.0f} GB, {} ranks {:.0f} GB: what is kept must be "
                      "shared, at least by {} ranks.\n",
                      memory, ranks, memory * ranks, static_cast<int>(std::ceil(all / memory)));
  return text + fmt::format(
                    "{} ranks have {:.0f} GB together: not even all of them hold it, so "
                    "some of it must leave the GPUs.\n",
                    ranks, memory * ranks);
}

std::string result_text(const MethodResult& result, double quickest) {
  const std::string name = fmt::format("  {:<22}", result.method->name);
  if (result.search.best.empty())
    return name + (result.search.leanest.reason.empty()
                       ? fmt::format("does not fit: {:.0f} GB or more per rank\n",
                                     result.search.least_bytes / gb)
                       : fmt::format("does not fit: {}\n", result.search.leanest.reason));
  const Evaluation& best = result.search.best.front();
  const double seconds = best.price.seconds;
  return name + fmt::format("{:.3g} s per step{}, {:.1f} GB: {}\n", seconds,
                            seconds > quickest * 1.0005
                                ? fmt::format(" (+{:.1f}%)", 100.0 * (seconds / quickest - 1.0))
                                : "",
                            static_cast<double>(best.memory.scarce().total()) / gb,
                            best.candidate.text());
}

double quickest_of(const std::vector<MethodResult>& results) {
  double quickest = 0.0;
  for (const MethodResult& result : results)
    if (!result.search.best.empty()) {
      const double seconds = result.search.best.front().price.seconds;
      if (quickest == 0.0 || seconds < quickest) quickest = seconds;
    }
  return quickest;
}

}  // namespace

std::span<const Method> methods() {
  static constexpr Method all[] = {
      {"data parallel (DDP)", "every rank holds the whole model; gradients are summed once a step",
       [](const Candidate& c) { return data_only(c) && keeps(c) && c.zero == 0; }},
      {"ZeRO-1", "every rank keeps the optimizer state of its share; messages are those of DDP",
       [](const Candidate& c) { return data_only(c) && keeps(c) && c.zero == 1; }},
      {"ZeRO-2", "gradients are cut too: they are reduced with every micro-batch",
       [](const Candidate& c) { return data_only(c) && keeps(c) && c.zero == 2; }},
      {"ZeRO-3 (FSDP)", "parameters are cut too: every layer is gathered before its use",
       [](const Candidate& c) { return data_only(c) && keeps(c) && c.zero == 3; }},
      {"ZeRO with offload", "optimizer state, or parameters, wait in the host's memory",
       [](const Candidate& c) { return data_only(c) && !keeps(c); }},
      {"tensor parallel", "matrices are cut within a node; messages with every layer",
       [](const Candidate& c) { return c.tensor > 1 && c.pipeline == 1; }},
      {"pipeline or 3D",
       "layers are cut over nodes: small messages, and waits at both ends of a step",
       [](const Candidate& c) { return c.pipeline > 1; }},
  };
  return all;
}

std::vector<MethodResult> compare_methods(
    const std::vector<Candidate>& layouts, const Config& job, const Machine& machine,
    const std::function<Evaluation(const Candidate&)>& evaluate) {
  std::vector<MethodResult> results;
  for (const Method& method : methods()) {
    std::vector<Candidate> own;
    std::ranges::copy_if(layouts, std::back_inserter(own), method.has);
    if (!own.empty()) results.push_back({&method, search(own, job, machine, 1, evaluate)});
  }
  return results;
}

const MethodResult* recommended(const std::vector<MethodResult>& results) {
  const double quickest = quickest_of(results);
  for (const MethodResult& result : results)
    if (!result.search.best.empty() && result.search.best.front().price.seconds <= close * quickest)
      return &result;
  return nullptr;
}

std::string explanation(const std::vector<MethodResult>& results, const JobToPlan& job,
                        const Machine& machine, int ranks) {
  std::string text = state_text(job, machine, ranks);
  const double quickest = quickest_of(results);
  for (const MethodResult& result : results) text += result_text(result, quickest);
  const MethodResult* choice = recommended(results);
  if (choice == nullptr)
    return text +
           "Nothing fits. triax plan --fit says how many ranks, or how much memory, would do.\n";
  text += fmt::format("The numbers speak for {}: {}.\n", choice->method->name,
                      choice->method->sentence);
  if (choice->search.best.front().price.seconds > quickest * 1.0005)
    text += fmt::format(
        "A more involved method would be {:.1f}% quicker, which is less than such a "
        "forecast can promise.\n",
        100.0 * (1.0 - quickest / choice->search.best.front().price.seconds));
  for (const MethodResult& result : results) {
    if (&result == choice) break;
    if (result.search.best.empty()) continue;
    text += fmt::format("{} is simpler, and {:.0f}% slower.\n", result.method->name,
                        100.0 * (result.search.best.front().price.seconds / quickest - 1.0));
  }
  return text;
}

}  // namespace triax
