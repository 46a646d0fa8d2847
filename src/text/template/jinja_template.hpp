// SPDX-License-Identifier: Apache-2.0
#pragma once
// A chat template as transformers renders it: Jinja with trim_blocks and lstrip_blocks in an
// immutable sandbox, with {% generation %}, {% break %}, raise_exception and strftime_now.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/text/template/builtin/clock.hpp"
#include "src/text/template/renderer.hpp"
#include "src/text/template/syntax/parser.hpp"

namespace triax::jinja {

struct Rendered {
  std::string text;                 // UTF-8
  std::vector<TextSpan> generated;  // spans of {% generation %} in bytes, ascending
};

/// raise_exception: the template refuses the conversation. The message is the template's own.
class TemplateRefusal : public UsageError {
 public:
  TemplateRefusal(const std::string& where, std::string template_message);
  const std::string message;
};

/// Immutable: threads share it.
class JinjaTemplate {
 public:
  /// `name`: the file, for messages. UsageError with line and column for what is not supported.
  JinjaTemplate(std::string name, std::string_view text);

  /// UsageError with line and column where the template cannot be rendered with these variables;
  /// TemplateRefusal where it calls raise_exception.
  Rendered render(const Dict& variables, const Clock& clock) const;
  /// Whether it marks what the assistant says.
  bool has_generation() const { return tree_.has_generation; }
  const std::string& name() const { return source_.name; }
  const std::string& text() const { return source_.text; }

 private:
  Source source_;
  Tree tree_;
};

}  // namespace triax::jinja
