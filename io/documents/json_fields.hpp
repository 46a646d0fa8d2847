// SPDX-License-Identifier: Apache-2.0
#pragma once
// Strings of a JSON object (RFC 8259) by their keys, without a tree of its values: five to ten
// times as fast as a parser that makes one.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// Where and why a text is not valid, or not as asked for.
struct JsonProblem {
  std::size_t byte = 0;  // within the line, from 0
  std::string why;
};

/// Finds the members of these keys in one object, and checks all of the object's syntax. The last
/// of several members of one key counts, as in Python's json; members of nested objects do not.
class JsonFields {
 public:
  explicit JsonFields(std::vector<std::string> keys);
  /// The members' strings as they are in `line`, between their quotes, in the order of the keys;
  /// valid as long as `line`. Nothing is said about their UTF-8. A problem: where the line is no
  /// object, or has no string of one of the keys.
  std::optional<JsonProblem> scan(std::string_view line);
  const std::vector<std::string_view>& strings() const { return strings_; }
  /// Position of the first byte of string `i` in the line scanned last.
  std::size_t position(std::size_t i) const {
    return static_cast<std::size_t>(strings_[i].data() - line_.data());
  }

 private:
  std::vector<std::string> keys_;
  std::vector<std::string_view> strings_;
  std::string_view line_;
};

/// Appends a JSON string, which is given as it stands between its quotes and has valid syntax, to
/// `out`: escapes are replaced by their characters. Returns the position of the first escape that
/// is half of a surrogate pair; with `replaced`, counts these instead and appends U+FFFD for each.
std::optional<std::size_t> append_unescaped(std::string_view raw, std::string& out,
                                            std::size_t* replaced = nullptr);

}  // namespace triax
