// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters that call another filter or a test for each item. They give generators, as in Jinja.
// The first argument is the value; Fault where Jinja raises an error.
#include "src/text/template/builtin/host.hpp"

namespace triax::jinja {

Value filter_map(Host& host, const Arguments& arguments);
Value filter_reject(Host& host, const Arguments& arguments);
Value filter_rejectattr(Host& host, const Arguments& arguments);
Value filter_select(Host& host, const Arguments& arguments);
Value filter_selectattr(Host& host, const Arguments& arguments);

}  // namespace triax::jinja
