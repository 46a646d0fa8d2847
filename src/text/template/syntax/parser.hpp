// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tree of a template from its text.
#include "src/text/template/syntax/source_position.hpp"
#include "src/text/template/syntax/tree.hpp"

namespace triax::jinja {

struct Tree {
  Body body;
  bool has_generation = false;  // a {% generation %} is in it
};

/// UsageError with line and column for what is no template, and for tags that are not supported.
Tree parse_template(const Source& source);

}  // namespace triax::jinja
