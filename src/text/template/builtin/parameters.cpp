// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace triax::jinja {

Parameters::Parameters(const std::string& function, const Arguments& arguments,
                       std::initializer_list<const char*> names, std::size_t required)
    : function_(function), names_(names), values_(names.size()), given_(names.size()) {
  if (arguments.positional.size() > names_.size())
    throw Fault(fmt::format("{} takes at most {} arguments", function, names_.size()));
  std::ranges::copy(arguments.positional, values_.begin());
  std::fill_n(given_.begin(), arguments.positional.size(), true);
  for (const auto& [name, value] : arguments.named) {
    const auto at = static_cast<std::size_t>(std::ranges::find(names_, std::string_view(name)) -
                                             names_.begin());
    if (at == names_.size()) throw Fault(fmt::format("{} has no parameter {}", function, name));
    if (given_[at]) throw Fault(fmt::format("{} gets {} twice", function, name));
    values_[at] = value;
    given_[at] = true;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (!given_[i]) throw Fault(fmt::format("{} needs its argument {}", function, names_[i]));
}

Fault Parameters::wrong_type(std::size_t i, const char* type) const {
  return Fault(fmt::format("{} of {} must be {}; it is {}", names_[i], function_, type,
                           values_[i].type_name()));
}

const std::string& Parameters::text(std::size_t i) const {
  if (!values_[i].is_text()) throw wrong_type(i, "a string");
  return values_[i].text();
}

std::int64_t Parameters::integer(std::size_t i, std::int64_t otherwise) const {
  if (!given_[i]) return otherwise;
  if (!values_[i].is_integral()) throw wrong_type(i, "an integer");
  return values_[i].integer();
}

bool Parameters::flag(std::size_t i, bool otherwise) const {
  return given_[i] ? values_[i].truth() : otherwise;
}

}  // namespace triax::jinja
