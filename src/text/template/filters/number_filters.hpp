// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters that give a number, with Python's conversions.
// The first argument is the value; Fault where Jinja raises an error.
#include "src/text/template/builtin/host.hpp"

namespace triax::jinja {

Value filter_abs(Host& host, const Arguments& arguments);
Value filter_float(Host& host, const Arguments& arguments);
Value filter_int(Host& host, const Arguments& arguments);
Value filter_round(Host& host, const Arguments& arguments);

}  // namespace triax::jinja
