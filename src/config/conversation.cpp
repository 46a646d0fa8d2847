// SPDX-License-Identifier: Apache-2.0
#include "src/config/conversation.hpp"

#include <nlohmann/json.hpp>

namespace triax {
namespace {

using Names = std::map<std::string, std::string>;

template <class T>
T value_of(const nlohmann::json& data, const char* key, T otherwise) {
  return data.contains(key) && !data.at(key).is_null() ? data.at(key).get<T>() : otherwise;
}

}  // namespace

ConversationConfig conversation_config(const std::string& resolved_job) {
  const auto job = nlohmann::json::parse(resolved_job);
  const nlohmann::json data = job.value("data", nlohmann::json::object());
  ConversationConfig config;
  const std::string format = value_of<std::string>(data, "format", config.format);
  if (format == "tokens" || format == "text") return config;
  config.format = format;
  config.fields = value_of<Names>(data, "fields", {});
  config.roles = value_of<Names>(data, "roles", {});
  config.train_on = value_of<std::string>(data, "train_on", config.train_on);
  config.template_file = value_of<std::string>(data, "template", {});
  config.template_date = value_of<std::string>(data, "template_date", {});
  config.validation_fraction = value_of(data, "validation_fraction", config.validation_fraction);
  config.train_rows = row_slice(value_of<std::string>(data, "train_rows", ":")).value();
  config.valid_rows = row_slice(value_of<std::string>(data, "valid_rows", ":")).value();
  return config;
}

}  // namespace triax
