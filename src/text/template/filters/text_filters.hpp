// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters that give a text, and those of any value.
// The first argument is the value; Fault where Jinja raises an error.
#include "src/text/template/builtin/host.hpp"

namespace triax::jinja {

Value filter_capitalize(Host& host, const Arguments& arguments);
Value filter_default(Host& host, const Arguments& arguments);
Value filter_escape(Host& host, const Arguments& arguments);
Value filter_indent(Host& host, const Arguments& arguments);
Value filter_lower(Host& host, const Arguments& arguments);
Value filter_replace(Host& host, const Arguments& arguments);
Value filter_safe(Host& host, const Arguments& arguments);
Value filter_string(Host& host, const Arguments& arguments);
Value filter_title(Host& host, const Arguments& arguments);
Value filter_tojson(Host& host, const Arguments& arguments);
Value filter_trim(Host& host, const Arguments& arguments);
Value filter_upper(Host& host, const Arguments& arguments);

}  // namespace triax::jinja
