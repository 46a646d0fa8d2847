// SPDX-License-Identifier: Apache-2.0
#include "src/launch/same_job.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "io/files/fingerprint.hpp"
#include "io/safetensors/safetensors.hpp"
#include "kernels/base/process/host_name.hpp"
#include "src/config/model/huggingface.hpp"
#include "src/schedule/compute_order.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

using nlohmann::json;

std::string text_of(const json& facts) {
  return facts.dump(-1, ' ', false,
                    json::error_handler_t::replace);  // file names may hold invalid UTF-8
}

std::string size_text(const std::string& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? error.message() : fmt::format("{} bytes", bytes);
}

// A data file, and the other file of a Megatron pair (.bin and .idx): the index defines the
// sequences.
std::vector<std::string> with_pair(const std::string& file) {
  std::vector<std::string> files = {file};
  for (const auto& [one, other] : {std::pair{".bin", ".idx"}, std::pair{".idx", ".bin"}}) {
    if (!file.ends_with(one)) continue;
    const std::string beside = std::filesystem::path(file).replace_extension(other).string();
    std::error_code ignored;
    if (std::filesystem::exists(beside, ignored)) files.push_back(beside);
  }
  return files;
}

using FileText = std::string (*)(const std::string& file);

json of_data(const DataConfig& data, FileText text) {
  json all = json::object();
  for (const auto& files : {data.train, data.valid})
    for (const std::string& file : files)
      for (const std::string& part : with_pair(file)) all[part] = text(part);
  return all;
}

json of_weights(const std::string& directory, FileText text) {
  json all = json::object();
  if (directory.empty()) return all;
  try {
    for (const std::string& file : safetensors_files(directory)) all[file] = text(file);
  } catch (const Error& error) {
    all[directory] = error.what();  // a plan (--dry-run) needs no weights
  }
  return all;
}

// JSON object with one text per file that all ranks read.
json of_each_file(const Config& config, FileText text) {
  return {{"data", of_data(config.data, text)},
          {"weights", of_weights(config.model.weights, text)}};
}

// One line per differing value: "optimizer.params.lr is 0.002 here, 0.001 on rank 0".
std::vector<std::string> differences(const std::string& path, const json& here, const json& there) {
  const auto text = [](const json& value) {
    return value.is_null() ? "absent" : value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  if (here == there) return {};
  if (!here.is_object() || !there.is_object())
    return {fmt::format("{} is {} here, {} on rank 0", path, text(here), text(there))};
  std::vector<std::string> all;
  std::map<std::string, int> keys;
  for (const json* side : {&here, &there})
    for (const auto& item : side->items()) keys[item.key()];
  for (const auto& [key, unused] : keys)
    for (std::string& line : differences(path.empty() ? key : path + "." + key,
                                         here.value(key, json()), there.value(key, json())))
      all.push_back(std::move(line));
  return all;
}

void check_same(const json& here, const json& first) {
  std::vector<std::string> found = differences("", here, first);
  if (found.empty()) return;
  constexpr std::size_t most = 5;
  const std::size_t left = found.size() > most ? found.size() - most : 0;
  found.resize(found.size() - left);
  // Not a UsageError: a file system may show a node an older state for a while.
  throw Error("not every rank has the same program, job and data",
              fmt::format("on {}: {}{}", host_name(), fmt::join(found, "; "),
                          left > 0 ? fmt::format("; and {} more", left) : ""),
              "Start one program on all ranks, in one directory that all nodes share, and begin "
              "when its files are complete");
}

}  // namespace

std::string this_program() {
  std::string facts = build_facts();
  std::replace(facts.begin(), facts.end(), '\n', ';');
  return fmt::format("triax {}; {}", version, facts);
}

std::string job_facts(const LoadedJob& job, const std::string& program) {
  return text_of({{"program", program},
                  {"job", json::parse(job.resolved)},
                  {"schedule", text_of_order(job.config.parallel.compute_order)},
                  {"model", json::parse(huggingface_config(job.config.model))},
                  {"files", of_each_file(job.config, size_text)}});
}

void check_same_job(const Ranks& ranks, const std::string& facts) {
  const std::string first = broadcast_text(ranks, facts);
  agreed(ranks, [&] { check_same(json::parse(facts), json::parse(first)); });
}

void check_same_data(const ProcessGrid& grid, const Config& config) {
  if (grid.nodes() == 1) return;
  std::string facts;
  agreed(grid, [&] {
    if (grid.node_rank() == 0) facts = text_of(of_each_file(config, fingerprint));
  });
  const std::string first = broadcast_text(grid, facts);
  agreed(grid, [&] {
    if (grid.node_rank() == 0) check_same(json::parse(facts), json::parse(first));
  });
}

}  // namespace triax
