// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that a request lets the model call, and the form in which a model writes calls.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/serve/api/fields.hpp"

namespace triax {

/// A call as a model has written it. `arguments`: JSON text.
struct WrittenCall {
  std::string name, arguments;
};

/// How models of a family write calls. A new form is a row of the table in offered_tools.cpp.
struct ToolForm {
  const char* in_template;                 // a chat template that holds this has the form
  std::vector<const char*> begins;         // texts that calls begin with
  const char* ends;                        // behind a call; empty: the end of the answer
  bool first;                              // calls come first in an answer, or it has none
  const char *before, *after, *arguments;  // around one call as a JSON object; key of its arguments
  /// Calls of a text from its beginning to its end; nothing: it is none.
  std::optional<std::vector<WrittenCall>> (*read)(std::string_view text);
};

/// The form of a chat template's text; null: it has none that is known.
const ToolForm* tool_form_of(std::string_view template_text);

struct OfferedTools {
  const ToolForm* form = nullptr;  // null: no call is read from the answer
  std::vector<std::string> names;
  bool parallel = true;  // more than one call in an answer

  bool has(std::string_view name) const;
};

/// Names of the functions in `tools`. ApiError where one is no function.
std::vector<std::string> tool_names(const nlohmann::ordered_json& tools);

}  // namespace triax
