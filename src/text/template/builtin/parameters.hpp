// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of a call to the parameters that it has.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

class Parameters {
 public:
  /// Fault for too many arguments, an unknown name, or a parameter given twice. The first
  /// `required` parameters must be given.
  Parameters(const std::string& function, const Arguments& arguments,
             std::initializer_list<const char*> names, std::size_t required);

  bool given(std::size_t i) const { return given_[i]; }
  /// Undefined where it is not given.
  const Value& operator[](std::size_t i) const { return values_[i]; }
  // Typed values; Fault where the type is another one.
  const std::string& text(std::size_t i) const;
  std::int64_t integer(std::size_t i, std::int64_t otherwise) const;
  bool flag(std::size_t i, bool otherwise) const;

 private:
  Fault wrong_type(std::size_t i, const char* type) const;

  std::string function_;
  std::vector<const char*> names_;
  List values_;
  std::vector<bool> given_;
};

}  // namespace triax::jinja
