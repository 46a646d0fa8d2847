// SPDX-License-Identifier: Apache-2.0
#include "src/axolotl/dataset_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/config/source/find_input.hpp"
#include "src/text/template/named/named_templates.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;
using Names = std::map<std::string, std::string>;

// Adds a name of a field, unless it is the usual one.
void add_field(Names& fields, const std::string& field, const std::string& name) {
  if (name != field) fields[field] = name;
}

// Names of a message's fields, by message_property_mappings or the keys before it.
void read_message_fields(AxolotlJob& job, const std::string& path, Names& fields) {
  const std::string key = path + ".message_property_mappings";
  if (const auto role = job.text(path + ".message_field_role")) add_field(fields, "role", *role);
  if (const auto content = job.text(path + ".message_field_content"))
    add_field(fields, "content", *content);
  const ordered_json* const mappings = job.find(key);
  if (mappings == nullptr) return;
  if (!mappings->is_object()) return job.refuse(key, "expected a map: role: NAME, content: NAME");
  for (const auto& [property, name] : mappings->items()) {
    const std::string field = job.text(key + "." + property).value_or(property);
    if (property == "role" || property == "content")
      add_field(fields, property, field);
    else if (field != property)
      job.refuse(key + "." + property,
                 fmt::format("only role and content have other names. Rename the field {} of the "
                             "messages to {}",
                             field, property));
  }
}

// {target: [names in the file]} the other way round.
void read_roles(AxolotlJob& job, const std::string& path, Names& roles) {
  const std::string key = path + ".roles";
  const ordered_json* const map = job.find(key);
  if (map == nullptr) return;
  if (!map->is_object()) return job.refuse(key, "expected a map: assistant: [NAME, ...]");
  for (const auto& [target, names] : map->items())
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const auto name = job.text(fmt::format("{}.{}[{}]", key, target, i));
          name && *name != target)
        roles[*name] = target;
}

// The dataset's own template, else that of the file.
void read_template(AxolotlJob& job, const std::string& path, DatasetFormat& format) {
  const bool own = job.has(path + ".chat_template") || job.has(path + ".chat_template_jinja");
  const std::string name_key = own ? path + ".chat_template" : "chat_template";
  const std::string file_key = own ? path + ".chat_template_jinja" : "chat_template_jinja";
  const std::string name = job.text(name_key).value_or(job.has(file_key) ? "jinja" : "");
  if (name.empty() || name.starts_with("tokenizer_default")) return;
  if (named_template(name) != nullptr) {
    format.template_file = name;
    return;
  }
  if (name != "jinja")
    return job.refuse(name_key,
                      fmt::format("triax has no template \"{}\", but {}. Use tokenizer_default for "
                                  "that of the model, or jinja with chat_template_jinja: FILE "
                                  "(Axolotl's are in src/axolotl/utils/chat_templates/templates)",
                                  name, fmt::join(named_template_names(), ", ")));
  const auto file = job.text(file_key);
  if (!file) return job.refuse(name_key, "jinja needs chat_template_jinja: FILE");
  if (find_input(*file, job.file()).path.empty())
    return job.refuse(file_key, file->find("{") != file->npos
                                    ? "write the template into a file, and name it here"
                                    : fmt::format("no such file: {}", *file));
  format.template_file = *file;
}

// Turns of the assistant train, with their ends.
void check_trained(AxolotlJob& job, const std::string& path) {
  const std::string roles = path + ".roles_to_train";
  const ordered_json* const list = job.find(roles);
  const auto assistant = [](const ordered_json& role) {
    return role == "assistant" || role == "gpt";
  };
  if (list != nullptr &&
      (!list->is_array() || list->empty() || !std::ranges::all_of(*list, assistant)))
    job.refuse(roles,
               "the assistant's turns train. Leave this out, or set train_on_inputs: true "
               "to train all turns");
  for (const char* name : {".train_on_eos", ".train_on_eot"}) {
    const auto ends = job.text(path + name);
    if (ends && *ends != "turn")
      job.refuse(path + name, "the end of each trained turn trains. Set it to turn");
  }
}

void check_thoughts(AxolotlJob& job, const std::string& path) {
  const std::string there = job.text(path + ".field_thinking").value_or("reasoning_content");
  const std::string wanted = job.text(path + ".template_thinking_key").value_or(there);
  if (there != wanted)
    job.refuse(path + ".template_thinking_key",
               fmt::format("the template reads {}, and the messages have {}. Rename that field",
                           wanted, there));
}

void read_chat(AxolotlJob& job, const std::string& path, bool sharegpt, DatasetFormat& format) {
  format.format = "chat";
  if (sharegpt)
    format.fields = {{"messages", "conversations"}, {"role", "from"}, {"content", "value"}};
  if (const auto messages = job.text(path + ".field_messages"))
    add_field(format.fields, "messages", *messages);
  if (const auto tools = job.text(path + ".field_tools")) add_field(format.fields, "tools", *tools);
  read_message_fields(job, path, format.fields);
  read_roles(job, path, format.roles);
  read_template(job, path, format);
  check_trained(job, path);
  check_thoughts(job, path);
}

// Pairs of answers, as `rl` trains them. None: the type is another, which is an error.
std::optional<DatasetFormat> pair_format(AxolotlJob& job, const std::string& path) {
  const std::string key = path + ".type";
  const std::string type = job.text(key).value_or("chat_template.default");
  const bool whole = type == "chat_template.argilla_chat" || type == "chat_template.argilla";
  if (!whole && type != "chat_template" && type != "chat_template.default") {
    job.refuse(key, fmt::format("\"{}\" is not built for pairs of answers. Use "
                                "chat_template.default (messages, chosen, rejected), or "
                                "chat_template.argilla_chat (whole conversations): write the data "
                                "in such lines",
                                type));
    return {};
  }
  DatasetFormat format;
  format.format = "preference";
  if (!whole)
    add_field(format.fields, "prompt", job.text(path + ".field_messages").value_or("messages"));
  for (const char* field : {"chosen", "rejected"})
    if (const auto name = job.text(path + ".field_" + field))
      add_field(format.fields, field, *name);
  read_message_fields(job, path, format.fields);
  read_roles(job, path, format.roles);
  read_template(job, path, format);
  return format;
}

}  // namespace

std::optional<DatasetFormat> dataset_format(AxolotlJob& job, const std::string& path) {
  const std::string key = path + ".type";
  if (const ordered_json* const own = job.find(key); own != nullptr && own->is_object()) {
    job.refuse(key,
               "prompts of one's own are not built. Write lines with messages for type: "
               "chat_template, or with instruction, input and output for type: alpaca");
    return {};
  }
  if (job.is_on("rl")) return pair_format(job, path);
  const std::string type = job.text(key).value_or("chat_template");
  DatasetFormat format;
  format.all_trains = job.boolean("train_on_inputs").value_or(false);
  if (type == "chat_template" || type == "chat_template.default" || type.starts_with("sharegpt")) {
    read_chat(job, path, type.starts_with("sharegpt"), format);
  } else if (type == "alpaca") {
    format.format = "instruction";
  } else if (type == "completion") {
    format.format = "completion";
    format.fields = {{"prompt", ""}, {"completion", job.text(path + ".field").value_or("text")}};
    format.all_trains = true;
  } else {
    job.refuse(key, fmt::format("\"{}\" is not built. Use chat_template, alpaca or completion: "
                                "write the data in such lines",
                                type));
    return {};
  }
  return format;
}

}  // namespace triax
