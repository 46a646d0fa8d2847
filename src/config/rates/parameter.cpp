// SPDX-License-Identifier: Apache-2.0
#include "src/config/rates/parameter.hpp"

#include <fmt/format.h>

#include <utility>

namespace triax {

std::string parameter_path(const std::string& name) {
  return "scheduler.params." + name;
}

Key parameter_key(const std::string& name, KeyType type, nlohmann::json default_value,
                  Allowed allowed, std::string meaning) {
  return obeyed(parameter_path(name), type, std::move(default_value), std::move(allowed),
                std::move(meaning));
}

void check_order(Settings& s, ErrorList& errors, const std::string& lower,
                 const std::string& upper) {
  const std::string least = parameter_path(lower), most = parameter_path(upper);
  if (!s.has(least) || !s.has(most) || !s.sound({least, most}) || s.number(least) <= s.number(most))
    return;
  s.error(errors, least,
          fmt::format("{} is more than {} {}. Lower one or raise the other", s.number(least), most,
                      s.number(most)));
}

void check_falls(Settings& s, ErrorList& errors, const std::string& name,
                 const std::string& curve) {
  const std::string least = parameter_path(name), rate = "optimizer.params.lr";
  if (!s.has(least) || !s.sound({least, rate}) || s.number(least) <= s.number(rate)) return;
  s.error(errors, least,
          fmt::format("{} is more than {} {}, from which the {} falls to it. Lower one or raise "
                      "the other",
                      s.number(least), rate, s.number(rate), curve));
}

}  // namespace triax
