// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/json_part.hpp"

#include "src/text/split/make_splitter.hpp"

namespace triax {
namespace {

constexpr const char* remedy = "Check that the file is whole, or use another tokenizer";

}  // namespace

JsonPart::JsonPart(const nlohmann::json& value, std::string place)
    : value_(&value), place_(std::move(place)) {
  if (!value.is_object()) throw UsageError(place_ + ": not an object", {}, remedy);
}

const nlohmann::json* JsonPart::find(const std::string& key) {
  read_.insert(key);
  const auto at = value_->find(key);
  return at == value_->end() ? nullptr : &*at;
}

bool JsonPart::has(const std::string& key) const {
  const auto at = value_->find(key);
  return at != value_->end() && !at->is_null();
}

const nlohmann::json& JsonPart::value(const std::string& key) {
  const nlohmann::json* found = find(key);
  if (found == nullptr) throw UsageError(fmt::format("{}.{} is missing", place_, key), {}, remedy);
  return *found;
}

UsageError JsonPart::wrong_type(const std::string& key, const char* type) const {
  return UsageError(fmt::format("{}.{} is not {}", place_, key, type), {}, remedy);
}

std::string JsonPart::text(const std::string& key) {
  const nlohmann::json& found = value(key);
  if (!found.is_string()) throw wrong_type(key, "a string");
  return found.get<std::string>();
}

std::optional<std::string> JsonPart::text_if_any(const std::string& key) {
  find(key);
  if (!has(key)) return {};
  return text(key);
}

bool JsonPart::flag(const std::string& key, bool otherwise) {
  const nlohmann::json* found = find(key);
  if (found == nullptr || found->is_null()) return otherwise;
  if (!found->is_boolean()) throw wrong_type(key, "true or false");
  return found->get<bool>();
}

std::int64_t JsonPart::number(const std::string& key, std::int64_t least, std::int64_t most) {
  const nlohmann::json& found = value(key);
  if (!found.is_number_integer()) throw wrong_type(key, "a whole number");
  const bool large = found.is_number_unsigned() && found.get<std::uint64_t>() > 1ULL << 62U;
  const auto number = large ? std::int64_t{1} << 62 : found.get<std::int64_t>();
  if (number < least || number > most)
    throw UsageError(fmt::format("{}.{} is {}", place_, key, number),
                     fmt::format("{} to {} are possible", least, most), remedy);
  return number;
}

JsonPart JsonPart::part(const std::string& key) {
  return JsonPart(value(key), place_ + "." + key);
}

std::vector<JsonPart> JsonPart::parts(const std::string& key) {
  const nlohmann::json* found = find(key);
  std::vector<JsonPart> all;
  if (found == nullptr || found->is_null()) return all;
  if (!found->is_array()) throw wrong_type(key, "an array");
  for (std::size_t i = 0; i < found->size(); ++i)
    all.emplace_back((*found)[i], fmt::format("{}.{}[{}]", place_, key, i));
  return all;
}

std::shared_ptr<const Splitter> JsonPart::pattern(const std::string& key) {
  JsonPart pattern = part(key);
  const std::string kind = pattern.has("String") ? "String" : "Regex";
  const std::string text = pattern.text(kind);
  pattern.done();
  return kind == "String" ? literal_splitter(text) : make_splitter(text, pattern.place());
}

UsageError JsonPart::unknown(const std::string& key, const std::string& known) const {
  const auto at = value_->find(key);
  return UsageError(
      fmt::format("{}.{} {} is not known", place_, key, at == value_->end() ? "null" : at->dump()),
      "known: " + known, "Use another tokenizer, or report the file as an issue");
}

void JsonPart::done() const {
  for (const auto& [key, value] : value_->items())
    if (!read_.contains(key))
      throw UsageError(fmt::format("{}.{} is not known", place_, key), {},
                       "Use another tokenizer, or report the file as an issue");
}

}  // namespace triax
