// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job file for tests of the planner, and plans of it.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "src/machine/presets.hpp"
#include "src/planner/enumerate.hpp"
#include "src/planner/search.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

/// A Llama in bf16, 64 samples of 2048 tokens per step.
inline nlohmann::json llama_job(int hidden = 1024, int blocks = 8) {
  return {{"model",
           {{"architecture", "llama"},
            {"num_hidden_layers", blocks},
            {"num_attention_heads", 16},
            {"num_key_value_heads", 8},
            {"hidden_size", hidden},
            {"intermediate_size", 3 * hidden},
            {"vocab_size", 32000},
            {"max_position_embeddings", 2048}}},
          {"data", {{"train", {"absent.bin"}}, {"seq_length", 2048}}},
          {"train_batch_size", 64},
          {"optimizer", {{"type", "AdamW"}, {"params", {{"lr", 1e-4}}}}},
          {"bf16", {{"enabled", true}}}};
}

/// A job in a file of its own.
class PlannedLlama {
 public:
  explicit PlannedLlama(const nlohmann::json& job = llama_job())
      : path(directory_.path("job.json")) {
    std::ofstream(path) << job;
  }

 private:
  TempDirectory directory_;

 public:
  std::string path;
};

/// Search over all layouts of a job.
inline Search search_all(const JobToPlan& job, const Machine& machine, int ranks, std::size_t top) {
  const LayoutEvaluator evaluator(job, machine);
  return search(enumerate(job.base, machine, ranks), job.base, machine, top,
                [&](const Candidate& one) { return evaluator.evaluate(one); });
}

}  // namespace triax::test
