// SPDX-License-Identifier: Apache-2.0
// Files of datasets and test_datasets, and how their lines are read.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "src/axolotl/dataset_format.hpp"
#include "src/axolotl/parts.hpp"
#include "src/config/row_slice.hpp"
#include "src/config/source/find_input.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Files = std::vector<std::string>;

bool has_lines(const fs::path& path) {
  const std::string name = path.filename().string();
  return std::ranges::any_of(
      std::array{".jsonl", ".json", ".jsonl.gz", ".json.gz", ".jsonl.zst", ".json.zst"},
      [&](const char* end) { return name.ends_with(end); });
}

// Problem of a file whose lines are to be read; empty: none is known.
std::string problem_with(const std::string& file) {
  if (!has_lines(file))
    return fmt::format(
        "{} is no file of JSON lines (.jsonl, .json, also .gz and .zst). Write it as "
        "one",
        file);
  std::ifstream in(file);
  char first = '\0';
  in >> first;
  if (first == '[')
    return fmt::format(
        "{0} is one JSON array, and triax reads an object per line: jq -c '.[]' "
        "{0} >LINES.jsonl",
        file);
  return {};
}

Files files_in(const std::string& directory) {
  Files files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (has_lines(entry->path())) files.push_back(entry->path().string());
  std::ranges::sort(files);
  return files;
}

void lack_data(AxolotlJob& job, const std::string& key, const std::string& name) {
  if (has_lines(name)) return job.lack(key, "no such file: " + name);
  job.lack(key, fmt::format("{0} is no file or directory here, and triax downloads nothing. "
                            "Download it first (huggingface-cli download {0} --repo-type dataset "
                            "--local-dir DIR), and name its files of JSON lines",
                            name));
}

// Files that data_files names: in the directory of path, or by themselves.
Files named_files(AxolotlJob& job, const std::string& dataset, const std::string& directory) {
  const std::string key = dataset + ".data_files";
  const ordered_json names =
      job.find(key)->is_array() ? *job.find(key) : ordered_json::array({*job.find(key)});
  Files files;
  for (const ordered_json& name : names) {
    if (!name.is_string()) {
      job.refuse(key, "expected a file, or a list of files");
      return {};
    }
    const std::string own = name.get<std::string>();
    const std::string inside = (fs::path(directory) / own).string();
    const auto is_there = [&](const std::string& file) {
      return !find_input(file, job.file()).path.empty();
    };
    if (!directory.empty() && is_there(inside))
      files.push_back(inside);
    else if (is_there(own))
      files.push_back(own);
    else
      lack_data(job, key, inside);
  }
  return files;
}

Files dataset_files(AxolotlJob& job, const std::string& dataset) {
  const std::string key = dataset + ".path";
  const auto path = job.text(key);
  if (!path) {
    if (!job.has(key)) job.refuse(key, "missing. Set it to a file or directory of JSON lines");
    return {};
  }
  if (job.has(dataset + ".data_files"))
    return named_files(job, dataset, *path == "json" ? "" : *path);
  const std::string found = find_input(*path, job.file()).path;
  if (found.empty()) {
    lack_data(job, key, *path);
    return {*path};
  }
  if (!fs::is_directory(found)) return {*path};
  Files files = files_in(found);
  if (files.empty()) job.refuse(key, fmt::format("{} has no file of JSON lines", found));
  return files;
}

void check_files(AxolotlJob& job, const std::string& dataset, const Files& files) {
  for (const std::string& file : files)
    if (const std::string found = find_input(file, job.file()).path; !found.empty())
      if (const std::string problem = problem_with(found); !problem.empty())
        job.refuse(dataset + ".path", problem);
  const std::string type = job.text(dataset + ".ds_type").value_or("json");
  if (type != "json") job.refuse(dataset + ".ds_type", "only json is read: JSON lines");
}

// Files of all datasets of a list; their formats must be one.
Files list_of(AxolotlJob& job, const std::string& key, std::optional<DatasetFormat>& format) {
  const ordered_json* const list = job.find(key);
  Files files;
  if (list == nullptr) return files;
  if (!list->is_array()) {
    job.refuse(key, "expected a list of datasets, each after a -");
    return files;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string dataset = fmt::format("{}[{}]", key, i);
    if (!(*list)[i].is_object()) {
      job.refuse(dataset, "expected a map with path and type");
      continue;
    }
    const auto own = dataset_format(job, dataset);
    if (own && format && *own != *format)
      job.refuse(dataset + ".type",
                 "it is read otherwise than datasets[0], and a run reads one "
                 "format. Write both in the same form");
    if (own && !format) format = own;
    const Files more = dataset_files(job, dataset);
    check_files(job, dataset, more);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

// The key that names the template.
std::string template_key(AxolotlJob& job) {
  const std::string dataset = "datasets[0].";
  for (const std::string key : {"chat_template_jinja", "chat_template"})
    for (const std::string& path : {dataset + key, key})
      if (job.has(path)) return path;
  return dataset + "chat_template";
}

void set_format(AxolotlJob& job, const DatasetFormat& format) {
  const std::string from = "datasets[0]";
  job.set("data.format", format.format, from + ".type");
  if (!format.fields.empty()) job.set("data.fields", format.fields, from);
  if (!format.roles.empty()) job.set("data.roles", format.roles, from + ".roles");
  if (format.all_trains)
    job.set("data.train_on", "all",
            job.has("train_on_inputs") ? "train_on_inputs" : from + ".type");
  if (!format.template_file.empty())
    job.set("data.template", format.template_file, template_key(job));
}

// The slice of a dataset's split, as ":10%"; empty: the whole split. Files are one split, "train".
std::string slice_of(AxolotlJob& job, const std::string& dataset) {
  const std::string key = dataset + ".split";
  const std::string split = job.text(key).value_or("train"), begin = "train[";
  if (split == "train") return {};
  const bool sliced = split.starts_with(begin) && split.ends_with(']');
  const std::string slice =
      sliced ? split.substr(begin.size(), split.size() - begin.size() - 1) : std::string();
  if (const auto rows = row_slice(slice))
    return rows->is_whole() || slice == ":100%" ? std::string() : slice;
  job.refuse(key, fmt::format("\"{}\" is no split of a file. Set it to train, or to a slice: "
                              "train[:1000], train[90%:]",
                              split));
  return {};
}

// A job has one slice of all lines that it trains on, and one of those that it validates on.
void translate_slice(AxolotlJob& job, const std::string& list, const std::string& to) {
  const ordered_json* const datasets = job.find(list);
  if (datasets == nullptr || !datasets->is_array()) return;
  for (std::size_t i = 0; i < datasets->size(); ++i) {
    const std::string dataset = fmt::format("{}[{}]", list, i);
    const std::string slice = slice_of(job, dataset), key = dataset + ".split";
    if (slice.empty()) continue;
    if (datasets->size() > 1)
      job.refuse(key, fmt::format("a slice is taken of one dataset, and {} has {}. Cut the file, "
                                  "and leave this out",
                                  list, datasets->size()));
    else
      job.set(to, slice, key);
  }
}

void translate_split(AxolotlJob& job) {
  const std::string key = "val_set_size";
  const auto size = job.number(key);
  if (!size || *size == 0.0) return;
  if (*size >= 1.0)
    return job.refuse(key, fmt::format("{} is a number of samples, and triax splits by a share of "
                                       "the lines. Set it to {} divided by the number of lines "
                                       "(wc -l), such as 0.05",
                                       *size, *size));
  job.set("data.validation_fraction", *size, key);
}

}  // namespace

void translate_data(AxolotlJob& job) {
  std::optional<DatasetFormat> format;
  const Files train = list_of(job, "datasets", format);
  if (!job.has("datasets")) job.refuse("datasets", "missing. Set it to a list of path and type");
  if (!train.empty()) job.set("data.train", train, "datasets");
  translate_slice(job, "datasets", "data.train_rows");
  if (format) set_format(job, *format);
  if (const Files valid = list_of(job, "test_datasets", format); !valid.empty())
    job.set("data.valid", valid, "test_datasets");
  translate_slice(job, "test_datasets", "data.valid_rows");
  translate_split(job);
  if (const auto length = job.number("sequence_len"))
    job.set("data.seq_length", static_cast<std::int64_t>(*length), "sequence_len");
  else
    job.set_default("data.seq_length", 512, "Axolotl's default");
  const std::string excess = job.text("excess_length_strategy").value_or("truncate");
  if (excess != "truncate")
    job.refuse("excess_length_strategy",
               "samples that are longer than sequence_len are cut. Set it to truncate, or take "
               "them out of the data");
  else if (!job.has("excess_length_strategy"))
    job.remark("Longer samples are cut, where Axolotl leaves them out");
  if (const auto shuffle = job.boolean("shuffle_merged_datasets"))
    job.set("data.shuffle", *shuffle, "shuffle_merged_datasets");
  if (job.boolean("sample_packing").value_or(false))
    job.set("data.packing", true, "sample_packing");
}

}  // namespace triax
