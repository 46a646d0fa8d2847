// SPDX-License-Identifier: Apache-2.0
// The model's directory, its tokenizer and template, and the tensors that train.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "src/axolotl/parts.hpp"
#include "src/config/source/find_input.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string download(const std::string& name) {
  return fmt::format(
      "{} is no directory here, and triax downloads nothing. Download it first "
      "(huggingface-cli download {} --local-dir DIR), and name the directory",
      name, name);
}

void translate_directory(AxolotlJob& job) {
  const auto name = job.text("base_model");
  if (!name) {
    if (!job.has("base_model")) job.refuse("base_model", "missing. Set it to a directory");
    return;
  }
  job.set("model.from", *name, "base_model");
  if (find_input(*name, job.file()).path.empty()) job.lack("base_model", download(*name));
  if (const ordered_json* const scaling = job.find("rope_scaling"))
    job.set("model.rope_scaling", *scaling, "rope_scaling");
  if (const auto tokenizer = job.text("tokenizer_config"); tokenizer && *tokenizer != *name) {
    job.set("data.tokenizer", *tokenizer, "tokenizer_config");
    if (find_input(*tokenizer, job.file()).path.empty())
      job.lack("tokenizer_config", download(*tokenizer));
  }
}

// A token in tokenizer_config.json: a text, or an object with its content.
std::string token_of(const ordered_json& config, const std::string& name) {
  const ordered_json value = config.value(name, ordered_json());
  if (value.is_string()) return value.get<std::string>();
  return value.is_object() ? value.value("content", std::string()) : std::string();
}

// Tokens that the tokenizer has already are no change.
void check_special_tokens(AxolotlJob& job) {
  if (!job.has("special_tokens")) return;
  const std::string model = job.text("base_model").value_or("");
  const std::string directory =
      find_input(job.text("tokenizer_config").value_or(model), job.file()).path;
  std::ifstream file(fs::path(directory) / "tokenizer_config.json");
  const ordered_json config = ordered_json::parse(file, nullptr, false);
  for (const char* name : {"bos_token", "eos_token", "unk_token"}) {
    const std::string path = std::string("special_tokens.") + name;
    const auto wanted = job.text(path);
    if (!wanted || directory.empty()) continue;
    const std::string there = config.is_object() ? token_of(config, name) : std::string();
    if (there != *wanted)
      job.refuse(path, fmt::format("it is \"{}\" in the tokenizer_config.json of {}, and triax "
                                   "changes no tokenizer. Change that file, or leave this out",
                                   there, directory));
  }
}

// An expression of Axolotl's, which begins to match at the begin of a name, as a pattern of triax;
// empty: it has no such form.
std::string pattern_of(const std::string& expression) {
  std::string pattern;
  bool to_the_end = false;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
    if (c == '^' && i == 0) continue;
    if (c == '$' && next == '\0') {
      to_the_end = true;
    } else if (c == '\\' && next == '.') {
      pattern += '.';
      ++i;
    } else if (c == '.' && next == '*') {
      pattern += '*';
      ++i;
    } else if (std::string_view("^$\\*+?()[]{}|").find(c) != std::string_view::npos) {
      return {};
    } else {
      pattern += c;
    }
  }
  return to_the_end || pattern.ends_with('*') ? pattern : pattern + '*';
}

void translate_trained(AxolotlJob& job) {
  const std::string key = "unfrozen_parameters";
  const ordered_json* const list = job.find(key);
  if (list == nullptr || list->empty()) return;
  ordered_json patterns = ordered_json::array();
  for (std::size_t i = 0; list->is_array() && i < list->size(); ++i) {
    const auto expression = job.text(fmt::format("{}[{}]", key, i)).value_or("");
    const std::string pattern = pattern_of(expression);
    if (pattern.empty())
      return job.refuse(key, fmt::format("\"{}\" is a regular expression that no pattern with * "
                                         "stands for. Set train_only in a job of triax",
                                         expression));
    patterns.push_back(pattern);
  }
  if (!list->is_array()) return job.refuse(key, "expected a list of expressions");
  job.set("train_only", patterns, key);
}

void check_plugins(AxolotlJob& job) {
  constexpr std::array kernels = {"CutCrossEntropyPlugin", "LigerPlugin", "KernelsPlugin",
                                  "SwanLabPlugin"};
  const ordered_json* const list = job.find("plugins");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const std::string path = fmt::format("plugins[{}]", i);
    const std::string name = job.text(path).value_or("");
    const auto is = [&](const char* plugin) { return name.ends_with(plugin); };
    if (std::ranges::any_of(kernels, is))
      job.pass_over(path, name + " chooses kernels or reports, and triax has its own");
    else
      job.refuse(path, fmt::format("triax runs no plugin {}. Leave it out", name));
  }
}

}  // namespace

void translate_model(AxolotlJob& job) {
  translate_directory(job);
  check_special_tokens(job);
  translate_trained(job);
  check_plugins(job);
}

}  // namespace triax
