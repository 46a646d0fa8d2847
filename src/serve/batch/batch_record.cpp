// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/batch_record.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "io/files/durable.hpp"
#include "io/files/fingerprint.hpp"
#include "io/files/sha256.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

}  // namespace

BatchRecord::BatchRecord(std::string directory) : directory_(std::move(directory)) {
  std::ifstream file(directory_ + "/batch.json");
  if (!file) return;
  record_ = ordered_json::parse(file, nullptr, false);
  if (!record_.is_object() || !record_.contains("facts") || !record_.contains("created"))
    throw Error(directory_ + "/batch.json is damaged", {}, "Give another --out and begin again");
}

void BatchRecord::begin(const ordered_json& facts) {
  if (!exists()) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    record_ = {{"created", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
               {"complete", false},
               {"facts", facts}};
    return write();
  }
  for (const auto& fact : facts.items()) {
    const ordered_json& found = record_["facts"].value(fact.key(), ordered_json());
    if (found == fact.value()) continue;
    throw UsageError(
        directory_ + " has answers of another batch",
        fmt::format("{} was {}, and is {}", fact.key(), found.dump(), fact.value().dump()),
        "Give another --out, or the same input, model and options");
  }
}

void BatchRecord::complete() {
  record_["complete"] = true;
  write();
}

std::string BatchRecord::text(const std::string& fact) const {
  if (!exists()) return {};
  const ordered_json value = record_.at("facts").value(fact, ordered_json());
  return value.is_string() ? value.get<std::string>() : std::string();
}

void BatchRecord::write() const {
  write_durably(directory_ + "/batch.json", record_.dump(2) + "\n");
}

std::string files_fingerprint(const std::string& path) {
  if (!fs::is_directory(path)) return fingerprint(path);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string kind = entry.path().extension().string();
    if (kind == ".safetensors" || kind == ".json" || kind == ".jinja" || kind == ".model")
      names.insert(entry.path().filename().string());
  }
  Sha256 all;
  for (const std::string& name : names)
    all.add(name + ": " + fingerprint(path + "/" + name) + "\n");
  return all.hex();
}

}  // namespace triax
