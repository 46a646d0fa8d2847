// SPDX-License-Identifier: Apache-2.0
#pragma once
// Alternatives for a file name that is taken: "name-1", "name-2", ... Internal to io/.
#include <cstdint>
#include <string>
#include <string_view>

namespace triax {

/// `name` for 0, else "name-<number>".
inline std::string numbered_name(const std::string& name, std::uint64_t number) {
  return number == 0 ? name : name + '-' + std::to_string(number);
}

/// Whether `rest`, the end of a name behind its base, is empty or "-<number>".
inline bool is_number_of_name(std::string_view rest) {
  return rest.empty() || (rest.size() > 1 && rest.front() == '-' &&
                          rest.find_first_not_of("0123456789", 1) == rest.npos);
}

}  // namespace triax
