// SPDX-License-Identifier: Apache-2.0
#pragma once
// Things that filters, tests and functions may ask of the renderer.
#include <string>

#include "src/text/template/builtin/clock.hpp"
#include "src/text/template/value/value.hpp"

namespace triax::jinja {

class Host {
 public:
  virtual ~Host() = default;
  /// Calls a filter or test by its name; the value is the first argument.
  virtual Value filter(const std::string& name, const Arguments& arguments) = 0;
  virtual bool check(const std::string& name, const Arguments& arguments) = 0;
  /// Counts work; Fault beyond the limit of the rendering.
  virtual void charge(std::size_t steps) = 0;
  virtual const Clock& clock() const = 0;
};

}  // namespace triax::jinja
