// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chat templates that the program has itself, by their names.
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// A chat template in Jinja, whose assistant's turns are marked with {% generation %}.
struct NamedTemplate {
  std::string_view name;  // "chatml"
  std::string_view text;
};

/// All templates, in the order of their names.
std::span<const NamedTemplate> named_templates();

/// The names of all templates.
std::vector<std::string> named_template_names();

/// The template of a name; null: there is none.
const NamedTemplate* named_template(std::string_view name);

}  // namespace triax
