// SPDX-License-Identifier: Apache-2.0
#pragma once
// Records of TensorBoard's event files: TFRecord framing around tensorflow.Event messages, which
// are encoded here without a protobuf library.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// CRC-32C (Castagnoli) of bytes.
std::uint32_t crc32c(std::string_view bytes);

struct EventScalar {
  std::string tag;
  double value = 0.0;
};

/// Head of an event: `seconds` since 1970, and the step.
struct EventHead {
  double seconds = 0.0;
  std::int64_t step = 0;
};

// Records, ready to be written to a file.

/// The first record of a file.
std::string version_record(double seconds);
/// Start of a session: readers drop what earlier files have of its step and later ones.
std::string session_record(const EventHead& head);
std::string scalar_record(const EventHead& head, const std::vector<EventScalar>& scalars);
/// A text, shown as Markdown.
std::string text_record(const EventHead& head, std::string_view tag, std::string_view text);

}  // namespace triax
