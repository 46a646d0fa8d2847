// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the files of a command line to tasks: one row per kind of task file.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/documents/document_reader.hpp"
#include "src/evaluate/kinds/generation.hpp"
#include "src/evaluate/kinds/rolling_windows.hpp"
#include "src/evaluate/task/task.hpp"

namespace triax {

struct TaskOptions {
  std::optional<EvaluationTokenizer> tokenizer;
  std::string no_tokenizer;  // why there is none, for the error of a task that needs one
  WindowShape windows;       // their length is that of all sequences
  DocumentOptions documents;
  std::string delimiter = " ";  // between context and choice
  GenerationTaskOptions generation;
  std::int64_t limit = 0;  // most documents of a task; 0: all
};

/// A task and what tells its input from another.
struct OpenedTask {
  std::unique_ptr<Task> task;
  std::string fingerprint;
};

/// Perplexity of a token file, or of the documents that `name` stands for (find_inputs). UsageError
/// where it stands for no file, or for a text and there is no tokenizer.
std::vector<OpenedTask> open_data(const std::string& name, const TaskOptions& options);

/// The task of a file, whose kind its content tells. UsageError where it is of no known kind.
OpenedTask open_task(const std::string& path, const TaskOptions& options);

}  // namespace triax
