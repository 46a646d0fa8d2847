// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/protobuf.hpp"

#include <bit>
#include <cstring>

#include "kernels/base/check.hpp"

namespace triax {

float ProtobufField::real() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::string_view ProtobufReader::take(std::uint64_t bytes) {
  if (bytes > left_.size())
    throw UsageError(place_ + " is no tokenizer, or damaged", "it ends within a protobuf field",
                     "Fetch the file again");
  const std::string_view taken = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return taken;
}

std::uint64_t ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (left_.empty()) return {};
  const std::uint64_t key = varint();
  ProtobufField field;
  field.number = static_cast<std::uint32_t>(key >> 3);
  switch (key & 7U) {
    case 0:
      field.value = varint();
      break;
    case 1:
      std::memcpy(&field.value, take(8).data(), 8);
      break;
    case 2:
      field.bytes = take(varint());
      break;
    case 5:
      std::memcpy(&field.value, take(4).data(), 4);
      break;
    default:
      throw UsageError(place_ + " is no tokenizer, or damaged", "no protobuf has such a field",
                       "Fetch the file again");
  }
  return field;
}

}  // namespace triax
