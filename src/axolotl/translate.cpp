// SPDX-License-Identifier: Apache-2.0
#include "src/axolotl/translate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "src/axolotl/axolotl_keys.hpp"
#include "src/axolotl/job_text.hpp"
#include "src/axolotl/parts.hpp"
#include "src/config/source/spelling.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

// A key of the file: its map in the table, its path, its name there and its value.
struct FileKey {
  const char* map;
  std::string path, name;
  ordered_json value;
};

void add_keys(std::vector<FileKey>& keys, const char* map, const std::string& path,
              const ordered_json& values) {
  for (const auto& [name, value] : values.items())
    keys.push_back({map, path.empty() ? name : path + "." + name, name, value});
}

// All keys of the file. A map or list of another form is an error.
std::vector<FileKey> keys_of(AxolotlJob& job) {
  std::vector<FileKey> keys;
  const ordered_json& root = job.document().root;
  add_keys(keys, "", "", root);
  for (const char* map : {"bnb_config_kwargs", "fsdp_config", "special_tokens"}) {
    const ordered_json value = root.value(map, ordered_json());
    if (value.is_object())
      add_keys(keys, map, map, value);
    else if (!value.is_null())
      job.refuse(map, "expected a map");
  }
  for (const char* list : {"datasets", "test_datasets"}) {
    const ordered_json values = root.value(list, ordered_json());
    for (std::size_t i = 0; values.is_array() && i < values.size(); ++i)
      if (values[i].is_object())
        add_keys(keys, "datasets", fmt::format("{}[{}]", list, i), values[i]);
  }
  return keys;
}

// The row of a key. Those of older files of FSDP have a prefix.
std::optional<AxolotlKey> row_of(const std::vector<AxolotlKey>& rows, const FileKey& key) {
  const auto found = std::ranges::find_if(rows, [&](const AxolotlKey& row) {
    const bool prefixed = std::string_view(key.map) == "fsdp_config";
    return key.name == row.name || (prefixed && key.name == std::string("fsdp_") + row.name);
  });
  return found == rows.end() ? std::nullopt : std::optional(*found);
}

std::string nearest(const std::vector<AxolotlKey>& rows, const std::string& name) {
  std::vector<std::string> names;
  std::ranges::transform(rows, std::back_inserter(names), &AxolotlKey::name);
  return nearest_word(name, names);
}

// Keys that the table does not have, has as refused, or as without effect.
void check_keys(AxolotlJob& job, const std::vector<FileKey>& keys) {
  for (const FileKey& key : keys) {
    const std::vector<AxolotlKey> rows = axolotl_keys(key.map);
    const auto row = row_of(rows, key);
    if (!row)
      job.refuse(key.path, "unknown key (nearest: " + nearest(rows, key.name) + ")");
    else if (row->use == AxolotlUse::becomes || is_neutral(*row, key.value))
      continue;
    else if (row->use == AxolotlUse::without_effect)
      job.pass_over(key.path, row->text);
    else
      job.refuse(key.path, fmt::format("is refused: {}", row->text));
  }
}

// Keys that no part has looked at: warm-up steps of a constant rate, for example.
void name_unread(AxolotlJob& job, const std::vector<FileKey>& keys) {
  for (const FileKey& key : keys) {
    const auto row = row_of(axolotl_keys(key.map), key);
    if (row && row->use == AxolotlUse::becomes && !is_neutral(*row, key.value) &&
        !job.was_read(key.path))
      job.pass_over(key.path, "nothing else in this file asks for it");
  }
}

// The export that Axolotl ends with.
void add_export(AxolotlJob& job) {
  job.set_default("zero_optimization.stage3_gather_16bit_weights_on_model_save", true,
                  "as Axolotl, the run ends with weights for Hugging Face: huggingface/ in "
                  "run.directory");
}

AxolotlJob translated(const std::string& text, const std::string& file, ErrorList& errors) {
  AxolotlJob job(file, parse_yaml(text, file, errors));
  const std::vector<FileKey> keys = keys_of(job);
  check_keys(job, keys);
  translate_memory(job);  // first: deepspeed is below all other keys
  translate_model(job);
  translate_adapter(job);
  translate_data(job);
  translate_preference(job);
  translate_steps(job);
  translate_optimizer(job);
  add_export(job);
  name_unread(job, keys);
  errors.add(job.errors());
  return job;
}

void put_nested(nlohmann::json& root, const std::string& key, const nlohmann::json& value) {
  nlohmann::json* node = &root;
  std::size_t begin = 0;
  for (auto dot = key.find('.'); dot != key.npos; begin = dot + 1, dot = key.find('.', begin))
    node = &(*node)[key.substr(begin, dot - begin)];
  (*node)[key.substr(begin)] = value;
}

}  // namespace

bool is_axolotl_file(const std::string& path) {
  return path.ends_with(".yml") || path.ends_with(".yaml");
}

JsonDocument axolotl_job(const std::string& text, const std::string& file,
                         std::vector<std::string>& notes) {
  ErrorList errors;
  const AxolotlJob job = translated(text, file, errors);
  errors.add(job.lacking());
  errors.raise();
  JsonDocument document;
  document.root = nlohmann::json::object();
  document.lines[""] = job.line("");
  for (const AxolotlJob::Entry& entry : job.entries()) {
    put_nested(document.root, entry.key, nlohmann::json::parse(entry.value.dump()));
    if (entry.line > 0) document.lines[entry.key] = entry.line;
  }
  if (!job.passed_over().empty())
    notes.push_back(
        fmt::format("{}: without effect here: {}", file, fmt::join(job.passed_over(), "; ")));
  return document;
}

std::string axolotl_job_text(const std::string& file, std::vector<std::string>& missing) {
  ErrorList errors;
  const AxolotlJob job = translated(read_text(file), file, errors);
  errors.raise();
  missing = job.lacking().texts();
  return job_text(job);
}

}  // namespace triax
