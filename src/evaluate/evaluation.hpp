// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs tasks on a model: reads items, gets answers, writes scores and sums them.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/evaluate/answers.hpp"
#include "src/evaluate/tasks.hpp"

namespace triax {

struct EvaluationOptions {
  std::string scores = {};  // file of the scores; empty: none
  nlohmann::ordered_json header =
      {};  // all that the scores depend on; the first key is "evaluation"
  bool progress = false;
};

/// Results of the tasks in their order: "task", "kind", metrics. On rank 0; null on the others.
/// Errors on all ranks alike. Collective over `ranks`, which have the same tasks.
nlohmann::ordered_json evaluate(Answers& answers, std::vector<OpenedTask>& tasks,
                                const EvaluationOptions& options, const Ranks& ranks);

}  // namespace triax
