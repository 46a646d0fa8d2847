// SPDX-License-Identifier: Apache-2.0
#pragma once
// The models and tasks of tests/golden/evaluate, and lm-evaluation-harness's answers to them.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/evaluate/tasks.hpp"

namespace triax::test {

inline std::string golden_evaluate(const std::string& name) {
  return fmt::format("{}/tests/golden/evaluate/{}", TRIAX_SOURCE_DIR, name);
}

/// answers.json.
inline nlohmann::json expected_answers() {
  return nlohmann::json::parse(std::ifstream(golden_evaluate("answers.json")));
}

/// Options of the tasks of a family.
inline TaskOptions golden_options(const std::string& family) {
  TaskOptions options;
  options.tokenizer = evaluation_tokenizer(open_with_facts(golden_evaluate(family)));
  options.windows = {expected_answers()["length"], expected_answers()["length"]};
  options.generation.max_tokens = expected_answers()["max_tokens"];
  return options;
}

/// All items of a task.
inline std::vector<Item> items_of(Task& task) {
  std::vector<Item> items;
  for (Item item; task.next(item);) items.push_back(item);
  return items;
}

}  // namespace triax::test
