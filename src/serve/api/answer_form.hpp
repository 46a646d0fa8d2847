// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of a request that ask for a form of its answers.
#include <string>

#include "src/inference/constraint/constraint_spec.hpp"
#include "src/serve/api/fields.hpp"
#include "src/serve/api/offered_tools.hpp"

namespace triax {

/// response_format, guided_json, guided_regex, guided_choice or structured_outputs, of which a
/// request may have one. ApiError for what is not built, named by its path in a schema.
ConstraintSpec read_answer_form(const Fields& fields);

/// The form of calls of `tools`, one of them, or of the one function `name` (empty: any). ApiError
/// as above.
ConstraintSpec form_of_call(const nlohmann::ordered_json& tools, const ToolForm& form,
                            const std::string& name);

}  // namespace triax
