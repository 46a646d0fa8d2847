// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/answer_form.hpp"

#include <fmt/format.h>

#include "kernels/base/check.hpp"
#include "src/inference/constraint/constraint.hpp"
#include "src/serve/api/api_error.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;
using Kind = ConstraintSpec::Kind;

ConstraintSpec checked(ConstraintSpec spec, const std::string& field) {
  try {
    (void)grammar_of(spec);
  } catch (const UsageError& error) {
    throw bad_request(fmt::format("'{}': {}", field, error.what()), field, "unsupported_parameter");
  }
  return spec;
}

ConstraintSpec of_schema(const json& schema, const std::string& field) {
  const json parsed =
      schema.is_string() ? json::parse(schema.get<std::string>(), nullptr, false) : schema;
  if (!parsed.is_object() && !parsed.is_boolean())
    throw bad_request(fmt::format("'{}' must be a JSON schema", field), field);
  return checked({.kind = Kind::json_schema, .text = parsed.dump()}, field);
}

ConstraintSpec of_regex(const json& regex, const std::string& field) {
  if (!regex.is_string()) throw bad_request(fmt::format("'{}' must be a string", field), field);
  return checked({.kind = Kind::regex, .text = regex.get<std::string>()}, field);
}

ConstraintSpec of_choice(const json& choice, const std::string& field) {
  const bool texts = choice.is_array() && !choice.empty() &&
                     std::all_of(choice.begin(), choice.end(), [](const json& one) {
                       return one.is_string() && !one.get_ref<const std::string&>().empty();
                     });
  if (!texts)
    throw bad_request(fmt::format("'{}' must be a list of strings, none of them empty", field),
                      field);
  return checked({.kind = Kind::choice, .text = choice.dump()}, field);
}

ConstraintSpec of_object(const json& wanted, const std::string& field) {
  if (!wanted.is_boolean())
    throw bad_request(fmt::format("'{}' must be true or false", field), field);
  return {.kind = wanted == true ? Kind::json_object : Kind::none};
}

// {"type": "text" or "json_object" or "json_schema", "json_schema": {"name", "schema"}}
ConstraintSpec of_response_format(const json& format, const std::string& field) {
  if (!format.is_object()) throw bad_request("'response_format' must be an object", field);
  const Fields fields(format);
  const std::string type = fields.text("type", "text");
  if (type == "text") return {};
  if (type == "json_object") return {.kind = Kind::json_object};
  if (type != "json_schema")
    throw bad_request("'response_format' of the type " + type + " is not supported", field,
                      "unsupported_parameter");
  const json* named = fields.find("json_schema");
  if (named == nullptr || !named->is_object() || !named->contains("schema"))
    throw bad_request("'response_format' must have json_schema: {\"name\", \"schema\"}", field);
  return of_schema((*named)["schema"], field);
}

struct FormField {
  const char* name;
  ConstraintSpec (*read)(const json& value, const std::string& field);
};

ConstraintSpec of_structured_outputs(const json& outputs, const std::string& field);

constexpr FormField form_fields[] = {
    {"response_format", of_response_format},
    {"guided_json", of_schema},
    {"guided_regex", of_regex},
    {"guided_choice", of_choice},
    {"structured_outputs", of_structured_outputs},
};
constexpr FormField structured_fields[] = {
    {"json", of_schema}, {"regex", of_regex}, {"choice", of_choice}, {"json_object", of_object}};

// The one form of several fields.
template <std::size_t Count>
ConstraintSpec one_form(const Fields& fields, const FormField (&names)[Count]) {
  ConstraintSpec found;
  for (const FormField& field : names) {
    const json* value = fields.find(field.name);
    if (value == nullptr) continue;
    ConstraintSpec spec = field.read(*value, field.name);
    if (spec.kind == Kind::none) continue;
    if (found.kind != Kind::none)
      throw bad_request(fmt::format("'{}' is a second form of the answer", field.name), field.name);
    found = std::move(spec);
  }
  return found;
}

ConstraintSpec of_structured_outputs(const json& outputs, const std::string& field) {
  if (!outputs.is_object()) throw bad_request("'structured_outputs' must be an object", field);
  for (const auto& item : outputs.items())
    if (std::none_of(std::begin(structured_fields), std::end(structured_fields),
                     [&](const FormField& known) { return item.key() == known.name; }) &&
        !item.value().is_null())
      throw bad_request("'structured_outputs' has " + item.key() + ", which is not supported",
                        field, "unsupported_parameter");
  return one_form(Fields(outputs), structured_fields);
}

}  // namespace

ConstraintSpec read_answer_form(const Fields& fields) {
  return one_form(fields, form_fields);
}

ConstraintSpec form_of_call(const json& tools, const ToolForm& form, const std::string& name) {
  json calls = json::array();
  for (const json& tool : tools) {
    const json& function = tool["function"];
    if (!name.empty() && function["name"] != name) continue;
    const json parameters = function.value("parameters", json{{"type", "object"}});
    calls.push_back(
        {{"type", "object"},
         {"properties", {{"name", {{"const", function["name"]}}}, {form.arguments, parameters}}},
         {"required", {"name", form.arguments}}});
  }
  if (calls.empty()) throw bad_request("'tool_choice' names no function of 'tools'", "tool_choice");
  return checked({.kind = Kind::json_schema,
                  .text = json{{"anyOf", calls}}.dump(),
                  .before = form.before,
                  .after = form.after},
                 "tools");
}

}  // namespace triax
