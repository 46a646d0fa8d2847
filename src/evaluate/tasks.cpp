// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/tasks.hpp"

#include <array>
#include <filesystem>
#include <utility>

#include "io/files/fingerprint.hpp"
#include "io/files/mapped_file.hpp"
#include "io/tokens/token_reader.hpp"
#include "kernels/base/check.hpp"
#include "src/evaluate/kinds/json_choices.hpp"
#include "src/evaluate/kinds/llmc_choices.hpp"
#include "src/evaluate/kinds/text_perplexity.hpp"
#include "src/evaluate/kinds/token_perplexity.hpp"

namespace triax {
namespace {

const EvaluationTokenizer& tokenizer_for(const std::string& file, const TaskOptions& options) {
  if (options.tokenizer) return *options.tokenizer;
  throw UsageError(fmt::format("{} has texts, and there is no tokenizer for them", file),
                   options.no_tokenizer, "Set --tokenizer to the model's tokenizer");
}

// A token file; null: `file` is text or JSON lines, whatever its name says, or compressed.
std::unique_ptr<TokenFile> token_file(InputFile& file) {
  const std::string extension = std::filesystem::path(file.path).extension().string();
  if (file.compression != Compression::none || file.format == DocumentFormat::json ||
      extension == ".txt")
    return nullptr;
  std::unique_ptr<TokenFile> tokens = open_tokens(file.path);
  const std::string_view format = tokens->format();
  if (format == "jsonl") file.format = DocumentFormat::json;
  if (format == "text" || format == "jsonl") return nullptr;
  return tokens;
}

OpenedTask token_task(std::string name, std::unique_ptr<TokenFile> file,
                      const TaskOptions& options) {
  std::string print = fingerprint(name);
  return {
      std::make_unique<TokenPerplexity>(std::move(name), std::move(file),
                                        options.tokenizer ? options.tokenizer->tokenizer : nullptr,
                                        options.windows, options.limit),
      std::move(print)};
}

// A task file, and what it begins with.
struct TaskFile {
  InputFile file = {};
  bool llmc = false;      // the magic of llm.c's evaluation files
  JsonRecord first = {};  // else the first object
};

struct TaskKind {
  const char* files;  // for the error about a file of no kind
  bool (*is)(const TaskFile& file);
  std::unique_ptr<Task> (*open)(const TaskFile& file, const TaskOptions& options);
};

constexpr std::array<TaskKind, 3> task_kinds = {{
    {"an evaluation file of llm.c (HellaSwag)", [](const TaskFile& file) { return file.llmc; },
     [](const TaskFile& file, const TaskOptions& options) -> std::unique_ptr<Task> {
       return std::make_unique<LlmcChoices>(file.file.path, options.windows.length, options.limit);
     }},
    {"JSON lines of context, choices and answer",
     [](const TaskFile& file) { return file.first.has("choices"); },
     [](const TaskFile& file, const TaskOptions& options) -> std::unique_ptr<Task> {
       return std::make_unique<JsonChoices>(file.file, tokenizer_for(file.file.path, options),
                                            options.windows.length, options.delimiter,
                                            options.limit);
     }},
    {"JSON lines of prompt and answer",
     [](const TaskFile& file) { return file.first.has("prompt"); },
     [](const TaskFile& file, const TaskOptions& options) -> std::unique_ptr<Task> {
       return std::make_unique<Generation>(file.file, tokenizer_for(file.file.path, options),
                                           options.windows.length, options.generation,
                                           options.limit);
     }},
}};

TaskFile look_at(const std::string& path) {
  const std::vector<InputFile> files = find_inputs({path}, DocumentFormat::json);
  if (files.size() != 1)
    throw UsageError(fmt::format("--task {} stands for {} files", path, files.size()),
                     "a task is one file", "Give --task for each of them");
  TaskFile file{.file = files.front()};
  if (file.file.bytes == 0) throw UsageError(path + " is empty", "0 bytes", "Give a task file");
  file.llmc = file.file.compression == Compression::none && is_llmc_choices(MappedFile(path));
  if (!file.llmc && !JsonRecords(file.file).next(file.first))
    throw UsageError(path + " has no documents", {}, "Give a task file");
  return file;
}

}  // namespace

std::vector<OpenedTask> open_data(const std::string& name, const TaskOptions& options) {
  std::vector<OpenedTask> tasks;
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored) && std::filesystem::exists(name + ".idx", ignored)) {
    tasks.push_back(token_task(name + ".bin", open_tokens(name), options));  // Megatron's prefix
    return tasks;
  }
  std::vector<InputFile> texts;
  std::string prints;
  for (InputFile& file : find_inputs({name}, {})) {
    if (auto tokens = token_file(file)) {
      tasks.push_back(token_task(file.path, std::move(tokens), options));
    } else {
      prints += file.path + " " + fingerprint(file.path) + "\n";
      texts.push_back(std::move(file));
    }
  }
  if (!texts.empty())
    tasks.push_back({std::make_unique<TextPerplexity>(name, std::move(texts), options.documents,
                                                      tokenizer_for(name, options), options.windows,
                                                      options.limit),
                     prints});
  return tasks;
}

OpenedTask open_task(const std::string& path, const TaskOptions& options) {
  const TaskFile file = look_at(path);
  for (const TaskKind& kind : task_kinds)
    if (kind.is(file)) return {kind.open(file, options), fingerprint(path)};
  std::string kinds;
  for (const TaskKind& kind : task_kinds)
    kinds += (kinds.empty() ? "" : "; ") + std::string(kind.files);
  throw UsageError(path + " is no task file that triax knows", "known are: " + kinds,
                   "Give one of these, or --data for the perplexity of a text");
}

}  // namespace triax
