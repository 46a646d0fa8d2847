// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of a file to samples, by several threads; and the lines that are for validation.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "src/config/row_slice.hpp"
#include "src/data/chat/sample_file.hpp"

namespace triax {

/// Destination of the samples of lines. With `valid` those of validation lines are separated.
struct SampleSides {
  SampleFile& train;
  SampleFile* valid = nullptr;
  double validation_fraction = 0.0;
};

/// Whether a line, without its line end, is for validation: whether the first 64 bits of its
/// SHA-256 are below the fraction of all their values. A function of the line alone: equal lines
/// stay together, more data move no line, and a larger fraction takes more lines to those that a
/// smaller one takes.
bool is_validation_line(std::string_view line, double fraction);

/// All lines.
inline constexpr RowRange all_lines = {0, std::numeric_limits<std::int64_t>::max()};

/// Number of the lines that are not blank of files, which may be compressed.
std::int64_t count_lines(std::span<const std::string> paths);

/// Adds the samples of the lines in `range` of the files, read as one and without blank lines, in
/// their order, whatever the number of threads. Error with file and line for a line that is no
/// conversation.
void encode_lines(const ChatContext& context, std::span<const std::string> paths,
                  const RowRange& range, int threads, const SampleSides& sides);

}  // namespace triax
