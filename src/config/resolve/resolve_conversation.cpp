// SPDX-License-Identifier: Apache-2.0
// Keys of conversations: data.format and those that only its formats of JSON lines read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "src/config/resolve/resolve.hpp"
#include "src/config/row_slice.hpp"
#include "src/config/source/absolute_path.hpp"

namespace triax {
namespace {

constexpr std::array field_names = {"messages",    "role",       "content", "tools",
                                    "prompt",      "completion", "chosen",  "rejected",
                                    "instruction", "input",      "output"};
constexpr std::array own_keys = {"data.fields",   "data.roles",         "data.train_on",
                                 "data.template", "data.template_date", "data.packing"};

bool is_map_of_strings(const nlohmann::json& value) {
  return std::ranges::all_of(value, [](const nlohmann::json& name) { return name.is_string(); });
}

void check_names(Settings& s, const std::string& key, ErrorList& errors) {
  if (s.has(key) && !is_map_of_strings(s.at(key).value))
    s.error(errors, key, "its values must be strings. Write {\"NAME\": \"NAME\"}");
}

void check_fields(Settings& s, ErrorList& errors) {
  const std::string key = "data.fields";
  if (!s.has(key)) return;
  for (const auto& [name, ignored] : s.at(key).value.items())
    if (std::ranges::find(field_names, std::string_view(name)) == field_names.end())
      return s.error(
          errors, key,
          fmt::format("\"{}\" is no field. Name one of {}", name, fmt::join(field_names, ", ")));
}

void find_template(Settings& s, const std::string& job_file, ErrorList& missing) {
  const std::string key = "data.template";
  if (!s.has(key)) return;
  const std::string path = s.string(key);
  const std::vector<std::string>& names = s.table().find(key)->words;
  if (std::ranges::find(names, path) != names.end()) return;
  const std::string found =
      named_input(s, key, path, job_file,
                  fmt::format("no such file: {}. Set it to a file with a chat template, or to one "
                              "of {}",
                              path, fmt::join(names, ", ")),
                  missing);
  if (!found.empty()) s.resolve(key, absolute_path(found), s.at(key).source);
}

// Samples of a row must not see each other.
void resolve_packing(Settings& s, ErrorList& errors) {
  const std::string key = "data.documents";
  if (!s.boolean("data.packing") || s.string(key) == "mask") return;
  if (s.given(key))
    return s.error(errors, key,
                   "\"join\", but with data.packing the samples of a row would see each other. Set "
                   "it to \"mask\", or leave it out");
  s.resolve(key, "mask", "data.packing");
}

// Lines that are left out of training are validated on, and are lines of conversations.
void check_validation_fraction(Settings& s, ErrorList& errors) {
  const std::string key = "data.validation_fraction";
  if (!s.has(key) || !s.sound({key})) return;
  const double fraction = s.number(key);
  if (fraction >= 1.0)
    s.error(errors, key,
            fmt::format("{} is not below 1: it is a share of the lines. For a number of lines, "
                        "divide it by that of data.train (wc -l)",
                        fraction));
  if (!reads_conversations(s))
    s.error(errors, key,
            fmt::format("data.format \"{}\" has no lines to split. Name validation files in "
                        "data.valid (triax data tokenize --validation-fraction makes them)",
                        s.string("data.format")));
  if (s.has("data.valid"))
    s.error(errors, key, "data.valid names validation files, too. Leave one of them out");
  if (s.sound({"run.eval_interval"}) && s.number("run.eval_interval") == 0.0)
    s.error(errors, key,
            "lines would be left out of training and never read: run.eval_interval is 0. Set it, "
            "or leave this out");
}

// Slices of lines of conversations, which are not blended.
void check_rows(Settings& s, const std::string& files, ErrorList& errors) {
  const std::string key = files + "_rows";
  if (!s.has(key) || !s.sound({key})) return;
  if (!row_slice(s.string(key)))
    s.error(
        errors, key,
        fmt::format("\"{}\" is no slice. Write \":1000\" for the first 1000 lines, \"90%:\" for "
                    "the last tenth",
                    s.string(key)));
  if (!reads_conversations(s))
    s.error(errors, key,
            fmt::format("data.format \"{}\" has no lines to count. Cut the file",
                        s.string("data.format")));
  if (!s.has(files))
    return s.error(errors, key, fmt::format("{} is not set. Set it, or leave this out", files));
  const nlohmann::json& value = s.at(files).value;
  if (value.is_array() && !value.empty() && value.front().is_object())
    s.error(errors, key,
            fmt::format("{} has sources with weights, and the slice is one of all lines. Cut the "
                        "files",
                        files));
}

}  // namespace

bool reads_conversations(const Settings& s) {
  const std::string format = s.string("data.format");
  return format != "tokens" && format != "text";
}

void check_conversation(Settings& s, const std::string& job_file, ErrorList& errors,
                        ErrorList& missing) {
  check_validation_fraction(s, errors);
  check_rows(s, "data.train", errors);
  check_rows(s, "data.valid", errors);
  if (!reads_conversations(s)) {
    for (const char* key : own_keys)
      if (s.given(key) && s.has(key) && s.at(key).value != nlohmann::json(false))
        s.warn(key,
               fmt::format("has no effect where data.format is \"{}\"", s.string("data.format")));
    return;
  }
  check_names(s, "data.fields", errors);
  check_names(s, "data.roles", errors);
  check_fields(s, errors);
  resolve_packing(s, errors);
  find_template(s, job_file, missing);
  const std::string tokenizer = s.string("data.tokenizer");
  if (tokenizer == "bytes" || (tokenizer == "auto" && !s.has("model.from")))
    s.error(
        errors, "data.tokenizer",
        fmt::format(
            "data.format \"{}\" needs the model's tokenizer. Set it to a directory with one, or "
            "train a model with model.from",
            s.string("data.format")));
}

}  // namespace triax
