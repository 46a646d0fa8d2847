// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/jinja_template.hpp"

#include <algorithm>
#include <utility>

#include "src/text/template/syntax/lexer.hpp"

namespace triax::jinja {

TemplateRefusal::TemplateRefusal(const std::string& where, std::string template_message)
    : UsageError(where + ": the chat template refuses the conversation", template_message),
      message(std::move(template_message)) {}

JinjaTemplate::JinjaTemplate(std::string name, std::string_view text)
    : source_(normalized_source(std::move(name), text)), tree_(parse_template(source_)) {}

Rendered JinjaTemplate::render(const Dict& variables, const Clock& clock) const {
  Renderer renderer(variables, clock);
  try {
    renderer.render(tree_.body);
  } catch (const Fault& fault) {
    throw template_error(source_, renderer.position(), fault.what());
  } catch (const Raised& raised) {
    throw TemplateRefusal(position_text(source_, renderer.position()), raised.what());
  }
  std::ranges::sort(renderer.generated, {}, &TextSpan::begin);
  return {std::move(renderer.text), std::move(renderer.generated)};
}

}  // namespace triax::jinja
