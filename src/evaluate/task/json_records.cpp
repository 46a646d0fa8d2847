// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/task/json_records.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/base/utf8.hpp"

namespace triax {

void JsonRecord::refuse(const std::string& key, const std::string& why) const {
  throw UsageError(fmt::format("{}: {}: {}", where_, key, why), {}, "Correct the document");
}

const nlohmann::json& JsonRecord::value(const std::string& key) const {
  if (has(key)) return object_[key];
  std::string keys;
  for (const auto& [name, ignored] : object_.items()) keys += (keys.empty() ? "" : ", ") + name;
  throw UsageError(fmt::format("{}: the object has no field \"{}\"", where_, key),
                   fmt::format("it has {}", keys.empty() ? "none" : keys), "Correct the document");
}

std::string JsonRecord::text(const std::string& key) const {
  const nlohmann::json& found = value(key);
  if (!found.is_string()) refuse(key, fmt::format("{} is not a string", found.dump()));
  return found.get<std::string>();
}

std::int64_t JsonRecord::integer(const std::string& key) const {
  const nlohmann::json& found = value(key);
  if (!found.is_number_integer()) refuse(key, fmt::format("{} is not an integer", found.dump()));
  return found.get<std::int64_t>();
}

std::vector<std::string> JsonRecord::texts(const std::string& key, bool or_one) const {
  const nlohmann::json& found = value(key);
  if (or_one && found.is_string()) return {found.get<std::string>()};
  const auto is_text = [](const nlohmann::json& one) { return one.is_string(); };
  if (!found.is_array() || !std::ranges::all_of(found, is_text))
    refuse(key, fmt::format("{} is not a list of strings", found.dump()));
  return found.get<std::vector<std::string>>();
}

JsonRecords::JsonRecords(const InputFile& file)
    : file_(file), lines_(open_bytes(file.path, file.compression), 0) {}

double JsonRecords::passed() const {
  return static_cast<double>(std::min(lines_.taken(), file_.bytes)) /
         static_cast<double>(std::max<std::int64_t>(file_.bytes, 1));
}

bool JsonRecords::next(JsonRecord& record) {
  LineReader::Line line;
  do {
    if (!lines_.next(line)) {
      require_unchanged(file_);
      return false;
    }
  } while (!line.too_long && line.text.find_first_not_of(" \t\r") == line.text.npos);
  const std::string where = fmt::format("{}:{}", file_.path, line.number);
  if (line.too_long)
    throw UsageError(where + ": the line is too long",
                     fmt::format("more than {} MiB", LineReader::longest >> 20),
                     "Correct the file");
  if (const std::size_t valid = valid_utf8(line.text); valid != line.text.size())
    throw UsageError(fmt::format("{}: byte {} of the line is not UTF-8", where, valid),
                     "tokenizers take UTF-8", "Correct the file");
  nlohmann::json object;
  try {
    object = nlohmann::json::parse(line.text);
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(where + ": the line is not JSON", error.what(), "Correct the file");
  }
  if (!object.is_object())
    throw UsageError(where + ": the line is not a JSON object", {}, "Correct the file");
  record = JsonRecord(std::move(object), where);
  return true;
}

}  // namespace triax
