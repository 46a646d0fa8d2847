// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests of templates: VALUE is NAME(arguments).
#include <string>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// The answer of a test on the first argument. Fault for an unknown test or wrong arguments.
bool apply_check(const std::string& name, const Arguments& arguments);

}  // namespace triax::jinja
