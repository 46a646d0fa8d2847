// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/nesting.hpp"

#include <fmt/format.h>

#include "src/text/template/value/fault.hpp"

namespace triax::jinja {
namespace {

thread_local int depth = 0;

}  // namespace

Nesting::Nesting() {
  if (depth == most) throw Fault(fmt::format("a value is nested deeper than {} levels", most));
  ++depth;
}

Nesting::~Nesting() {
  --depth;
}

}  // namespace triax::jinja
