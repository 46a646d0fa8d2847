// SPDX-License-Identifier: Apache-2.0
#pragma once
// An object of a tokenizer's JSON file, read key by key: keys that nobody asks for are refused.
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/text/split/splitter.hpp"

namespace triax {

class JsonPart {
 public:
  /// `place`: for messages, as "DIR/tokenizer.json: pre_tokenizer". UsageError unless an object.
  JsonPart(const nlohmann::json& value, std::string place);

  const std::string& place() const { return place_; }
  bool has(const std::string& key) const;  // and is not null
  /// The value of a key; UsageError where it is absent.
  const nlohmann::json& value(const std::string& key);
  /// A key that has no effect here.
  void ignore(const std::string& key) { read_.insert(key); }

  // Typed values; UsageError where the type is another one.
  std::string text(const std::string& key);
  std::optional<std::string> text_if_any(const std::string& key);  // absent or null: nothing
  bool flag(const std::string& key, bool otherwise);
  std::int64_t number(const std::string& key, std::int64_t least, std::int64_t most);
  JsonPart part(const std::string& key);
  std::vector<JsonPart> parts(const std::string& key);  // an array of objects; absent: none
  /// {"String": text} or {"Regex": pattern}.
  std::shared_ptr<const Splitter> pattern(const std::string& key);

  /// UsageError for a value that is not known.
  UsageError unknown(const std::string& key, const std::string& known) const;
  /// UsageError where a key was not read.
  void done() const;

 private:
  const nlohmann::json* find(const std::string& key);
  UsageError wrong_type(const std::string& key, const char* type) const;

  const nlohmann::json* value_;
  std::string place_;
  std::set<std::string> read_;
};

}  // namespace triax
