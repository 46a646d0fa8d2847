// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/syntax/source_position.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace triax::jinja {

std::string position_text(const Source& source, std::size_t at) {
  const std::string_view before = std::string_view(source.text).substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::string_view in_line = before.substr(before.rfind('\n') + 1);
  const auto column = 1 + std::ranges::count_if(in_line, [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
                      });
  return fmt::format("{}:{}:{}", source.name, line, column);
}

UsageError template_error(const Source& source, std::size_t at, const std::string& what,
                          const std::string& why, const std::string& what_to_do) {
  return UsageError(fmt::format("{}: {}", position_text(source, at), what), why, what_to_do);
}

}  // namespace triax::jinja
