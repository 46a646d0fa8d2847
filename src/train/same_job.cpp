#include "src/train/same_job.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "src/train/build_facts.hpp"
#include "src/train/version.hpp"

namespace triax {
namespace {

using nlohmann::json;

// What is the same on all ranks: the program, the job's keys, the model, and each file's size.
json facts_of(const LoadedJob& job, const std::string& program) {
  json facts = {{"program", program},
                {"job", json::parse(job.resolved)},
                {"model", json::parse(huggingface_config(job.config.model))},
                {"data", json::object()}};
  for (const auto& files : {job.config.data.train, job.config.data.valid})
    for (const std::string& file : files) {
      std::error_code error;
      const std::uintmax_t bytes = std::filesystem::file_size(file, error);
      facts["data"][file] = error ? error.message() : fmt::format("{} bytes", bytes);
    }
  return facts;
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

}  // namespace

std::string this_program() {
  std::string facts = build_facts();
  std::replace(facts.begin(), facts.end(), '\n', ';');
  return fmt::format("triax {}; {}", version, facts);
}

void check_same_job(const Ranks& ranks, const LoadedJob& job, const std::string& program) {
  json facts;
  std::string text;
  agreed(ranks, [&] {
    facts = facts_of(job, program);
    text = facts.dump(-1, ' ', false, json::error_handler_t::replace);  // names may be any bytes
    facts = json::parse(text);
  });
  const json first = json::parse(broadcast_text(ranks, text));
  agreed(ranks, [&] {
    std::vector<std::string> found;
    for (const auto& item : facts.items())
      for (std::string& line : differences(item.key(), item.value(), first[item.key()]))
        found.push_back(std::move(line));
    if (found.empty()) return;
    constexpr std::size_t most = 5;
    const std::size_t left = found.size() > most ? found.size() - most : 0;
    found.resize(found.size() - left);
    // No UsageError: a file system may show a node an older state, and later the same.
    throw Error("not every rank has the same program, job and data",
                fmt::format("{}{}", fmt::join(found, "; "),
                            left > 0 ? fmt::format("; and {} more", left) : ""),
                "Start one program on all ranks, in one directory that all nodes share, and begin "
                "when its files are complete");
  });
}

}  // namespace triax
