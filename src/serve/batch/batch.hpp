// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax batch`: answers to the lines of a file, until all are there or the time is over.
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/checkpoint/checkpoint.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/serve/batch/batch_run.hpp"
#include "src/serve/start/serve_settings.hpp"

namespace triax {

struct BatchSettings {
  ServeSettings serve;  // of the model and its engine; serve.grace
  RunConfig run;        // run.stop_before_end and run.time_limit alone
};

/// Settings of "KEY=VALUE" overrides, with the defaults of the key table. UsageError for a key that
/// this command does not have, and for a wrong value.
BatchSettings batch_settings(const std::vector<std::string>& overrides);

/// Part I of N as "I/N", from "0/N" to "N-1/N"; UsageError for other texts. Empty: the whole.
BatchPart batch_part(const std::string& text);

struct BatchArguments {
  std::string input, directory;  // JSON lines; of the answers
  std::string model, tokenizer;  // tokenizer: empty: the model's
  SavedWeights weights{};
  BatchPart part;
  std::uint64_t seed = 1234;
  BatchSettings settings;
};

enum class BatchEnd : std::uint8_t {
  complete,  // every line has its answer
  stopped,   // by a signal or the clock: to be run again
};

/// Answers the lines that have no answer in the directory yet: rank 0 reads and writes, all ranks
/// compute. A signal or the end of the job's time stops it: answers under way have serve.grace to
/// finish. `started`: the program. `ready` is called when signals are read here, which must be held
/// (hold_signals). Collective; all ranks return the same. UsageError if the directory has answers
/// of another batch.
BatchEnd answer_batch(ProcessGrid& grid, const BatchArguments& arguments,
                      std::chrono::system_clock::time_point started,
                      const std::function<void()>& ready);

/// How far the batch of a directory is: {input, lines, answered, errors, complete}; lines: null if
/// the input cannot be read any more. UsageError if the directory has no batch.
nlohmann::ordered_json batch_status(const std::string& directory);
/// The same for people, on one line.
std::string batch_status_text(const std::string& directory, const nlohmann::ordered_json& status);

}  // namespace triax
