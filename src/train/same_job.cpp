#include "src/train/same_job.hpp"

#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "io/fingerprint.hpp"
#include "kernels/base/host_name.hpp"

namespace triax {
namespace {

using nlohmann::json;

std::string text_of(const json& facts) {
  return facts.dump(-1, ' ', false, json::error_handler_t::replace);  // names may be any bytes
}

std::string size_text(const std::string& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? error.message() : fmt::format("{} bytes", bytes);
}

// A text for each data file.
json of_each_file(const DataConfig& data, std::string (*text)(const std::string& file)) {
  json all = json::object();
  for (const auto& files : {data.train, data.valid})
    for (const std::string& file : files) all[file] = text(file);
  return all;
}

// "optimizer.params.lr is 0.002 here, 0.001 on rank 0" for each value that is another.
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
  // No UsageError: a file system may show a node an older state, and later the same.
  throw Error("not every rank has the same job and data",
              fmt::format("on {}: {}{}", host_name(), fmt::join(found, "; "),
                          left > 0 ? fmt::format("; and {} more", left) : ""),
              "Start all ranks in one directory that all nodes share, and begin when its files "
              "are complete");
}

}  // namespace

std::string job_facts(const LoadedJob& job) {
  return text_of({{"job", json::parse(job.resolved)},
                  {"model", json::parse(huggingface_config(job.config.model))},
                  {"data", of_each_file(job.config.data, size_text)}});
}

void check_same_job(const Ranks& ranks, const std::string& facts) {
  const std::string first = broadcast_text(ranks, facts);
  agreed(ranks, [&] { check_same(json::parse(facts), json::parse(first)); });
}

void check_same_data(const ProcessGrid& grid, const DataConfig& data) {
  if (grid.nodes() == 1) return;
  std::string facts;
  agreed(grid, [&] {
    if (grid.node_rank() == 0) facts = text_of({{"data", of_each_file(data, fingerprint)}});
  });
  const std::string first = broadcast_text(grid, facts);
  agreed(grid, [&] {
    if (grid.node_rank() == 0) check_same(json::parse(facts), json::parse(first));
  });
}

}  // namespace triax
