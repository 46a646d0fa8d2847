// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of a request's JSON object. A wrong type or value is an ApiError 400 that names the field.
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace triax {

/// The JSON text of a request, its keys in their order (templates print tools so). ApiError where
/// it is no JSON, no UTF-8, nested too deeply, or of too many keys.
nlohmann::ordered_json parse_request(const std::string& body);

class Fields {
 public:
  /// `object` outlives the fields. ApiError unless it is an object.
  explicit Fields(const nlohmann::ordered_json& object);

  /// The value of a field; null: absent, or the value null.
  const nlohmann::ordered_json* find(const std::string& name) const;
  double number(const std::string& name, double otherwise, double least, double most) const;
  std::int64_t integer(const std::string& name, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most) const;
  std::optional<std::int64_t> integer_if_any(const std::string& name, std::int64_t least,
                                             std::int64_t most) const;
  bool flag(const std::string& name, bool otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  /// A text or a list of texts, none of them empty.
  std::vector<std::string> texts(const std::string& name, std::size_t most) const;
  /// Token ids from 0 to `vocabulary` - 1.
  std::vector<std::int32_t> tokens(const std::string& name, std::int64_t vocabulary) const;
  /// ApiError for a field whose value would change the reply in a way that is not built; null,
  /// false, empty values and zero are let through.
  void refuse(std::initializer_list<const char*> names) const;

 private:
  const nlohmann::ordered_json& object_;
};

/// The token ids of a list; `name` for errors.
std::vector<std::int32_t> token_list(const nlohmann::ordered_json& list, const std::string& name,
                                     std::int64_t vocabulary);

}  // namespace triax
