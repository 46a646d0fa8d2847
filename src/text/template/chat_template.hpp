// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chat templates of a model's directory, and conversations through them, as apply_chat_template of
// transformers 5 renders them.
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/text/files/file_set.hpp"
#include "src/text/template/jinja_template.hpp"

namespace triax {

/// A conversation with the choices that a template sees.
struct Conversation {
  nlohmann::ordered_json messages;   // array of objects: role, content, tool_calls, ...
  nlohmann::ordered_json tools;      // array of JSON schemas; null: none
  nlohmann::ordered_json documents;  // array; null: none
  nlohmann::ordered_json variables;  // object of more variables, as enable_thinking; null: none
  bool add_generation_prompt = false;
};

/// File of a model's directory with its chat template.
inline constexpr const char* chat_template_file = "chat_template.jinja";

/// The text of the template of a name (named_templates()), or of a file.
std::string chat_template_text(const std::string& name_or_file);

class ChatTemplates {
 public:
  /// The templates that files have: chat_template.jinja with additional_chat_templates/, else
  /// tokenizer_config.json, else chat_template.json. UsageError with line and column for what the
  /// templates have beyond the supported part of Jinja.
  explicit ChatTemplates(const TokenizerFiles& files);
  /// The template that chat_template_text() gives, with the special tokens of `files`.
  ChatTemplates(const std::string& name_or_file, const TokenizerFiles& files);

  bool empty() const { return templates_.empty(); }
  std::vector<std::string> names() const;  // "default", "tool_use", ...
  /// The template of a name; "": tool_use where there are tools and such a template, else default.
  /// UsageError where there is none.
  const jinja::JinjaTemplate& choose(const std::string& name, bool tools) const;

  /// UsageError for messages that are no list of objects, for values beyond from_json(), and as
  /// JinjaTemplate::render().
  jinja::Rendered render(const Conversation& conversation, const jinja::Clock& clock,
                         const std::string& name = {}) const;

  /// Whether a template asks for the date.
  bool asks_for_date() const;
  /// SHA-256, in hexadecimal, of templates and special tokens.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  void read_special_tokens(const TokenizerFiles& files);
  void add(const std::string& name, const std::string& file, std::string_view text);
  bool add_files(const TokenizerFiles& files);
  void add_of_json(const TokenizerFiles& files, const char* file);
  void finish();

  std::string place_, fingerprint_;
  std::map<std::string, std::shared_ptr<const jinja::JinjaTemplate>> templates_;
  std::map<std::string, std::string> special_tokens_;  // variables: "bos_token": "<s>"
};

}  // namespace triax
