// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that every template has: raise_exception, strftime_now, namespace, range, dict.
#include <string>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

/// The function of this name; undefined where there is none.
Value global_function(const std::string& name);

}  // namespace triax::jinja
