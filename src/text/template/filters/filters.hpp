// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters: VALUE | NAME(arguments).
#include <string>

#include "src/text/template/builtin/host.hpp"

namespace triax::jinja {

/// The result of a filter on the first argument. Fault for an unknown filter or wrong arguments.
Value apply_filter(Host& host, const std::string& name, const Arguments& arguments);

}  // namespace triax::jinja
