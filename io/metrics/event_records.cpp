// SPDX-License-Identifier: Apache-2.0
#include "io/metrics/event_records.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace triax {
namespace {

// Table of the reflected polynomial 0x82f63b78, one entry per byte.
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1U) ^ ((value & 1U) != 0 ? 0x82f63b78U : 0U);
    table[byte] = value;
  }
  return table;
}

// CRCs of TFRecord are stored rotated, as data with CRCs inside have poor CRCs of their own.
std::uint32_t masked(std::uint32_t crc) {
  return std::rotr(crc, 15) + 0xa282ead8U;
}

// Bytes of a number, least significant first.
template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    bytes += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xffU);
  return bytes;
}

std::string record(std::string_view data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(data) +
         little_endian(masked(crc32c(data)));
}

// A protobuf message, field by field.
class Message {
 public:
  Message& integer(int field, std::int64_t value) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& float64(int field, double value) {
    key(field, 1);
    bytes_ += little_endian(std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  Message& float32(int field, float value) {
    key(field, 5);
    bytes_ += little_endian(std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, unsigned type) { varint((static_cast<std::uint64_t>(field) << 3U) | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) bytes_ += static_cast<char>((value & 0x7fU) | 0x80U);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Field numbers of tensorflow/core/util/event.proto and of the messages it contains.
namespace field {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;  // Event
constexpr int status = 1;                                           // SessionLog
constexpr int value = 1;                                            // Summary
constexpr int tag = 1, simple_value = 2, tensor = 8, metadata = 9;  // its Value
constexpr int plugin_data = 1, data_class = 4;                      // its metadata
constexpr int plugin_name = 1;
constexpr int dtype = 1, shape = 2, string_value = 8;  // TensorProto
constexpr int dimension = 2, size = 1;                 // TensorShapeProto
}  // namespace field

Message event(const EventHead& head) {
  Message message;
  message.float64(field::wall_time, head.seconds).integer(field::step, head.step);
  return message;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes)
    crc = (crc >> 8U) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xffU];
  return ~crc;
}

std::string version_record(double seconds) {
  return record(event({seconds, 0}).text(field::file_version, "brain.Event:2").bytes());
}

std::string session_record(const EventHead& head) {
  constexpr int start = 1;
  return record(
      event(head).message(field::session_log, Message().integer(field::status, start)).bytes());
}

std::string scalar_record(const EventHead& head, const std::vector<EventScalar>& scalars) {
  Message summary;
  for (const EventScalar& scalar : scalars)
    summary.message(field::value,
                    Message()
                        .text(field::tag, scalar.tag)
                        .float32(field::simple_value, static_cast<float>(scalar.value)));
  return record(event(head).message(field::summary, summary).bytes());
}

std::string text_record(const EventHead& head, std::string_view tag, std::string_view text) {
  constexpr int of_strings = 7, of_tensors = 2;
  const Message shape = Message().message(field::dimension, Message().integer(field::size, 1));
  const Message tensor = Message()
                             .integer(field::dtype, of_strings)
                             .message(field::shape, shape)
                             .text(field::string_value, text);
  const Message metadata =
      Message()
          .message(field::plugin_data, Message().text(field::plugin_name, "text"))
          .integer(field::data_class, of_tensors);
  const Message value = Message()
                            .text(field::tag, tag)
                            .message(field::tensor, tensor)
                            .message(field::metadata, metadata);
  return record(
      event(head).message(field::summary, Message().message(field::value, value)).bytes());
}

}  // namespace triax
