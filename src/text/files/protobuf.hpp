// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of a protobuf message (https://protobuf.dev/programming-guides/encoding).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triax {

struct ProtobufField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // of a varint or fixed field
  std::string_view bytes;   // of a field with a length
  float real() const;       // of a fixed 32-bit field
};

/// Reads a message field by field.
class ProtobufReader {
 public:
  /// `place` names the file for messages.
  ProtobufReader(std::string_view message, const std::string& place)
      : left_(message), place_(place) {}
  /// Nothing at the end. UsageError where the message is damaged.
  std::optional<ProtobufField> next();

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t bytes);

  std::string_view left_;
  const std::string& place_;
};

}  // namespace triax
