// SPDX-License-Identifier: Apache-2.0
#pragma once
// Training samples by their number, wherever they come from.
#include <cstddef>
#include <cstdint>
#include <span>

namespace triax {

/// Where a sample lies: in source `source`, after `number` others in the order of its files.
struct SamplePosition {
  std::size_t source = 0;
  std::int64_t number = 0;
};

class SampleReader {
 public:
  virtual ~SampleReader() = default;
  virtual std::int64_t tokens() const = 0;
  virtual std::int64_t samples() const = 0;  // of one pass over all tokens, at least 1
  virtual bool has_bytes() const = 0;        // some file is text, one byte per token
  virtual bool has_labels() const = 0;       // labels differ from the tokens
  /// Reads sample `index`, counted from the start of training. out: T + 1 tokens, valid once
  /// check_lengths() has returned. labels: those of the same T + 1 tokens, not shifted; empty: not
  /// read. starts: 1 for those of the T + 1 tokens that are the first of a document, and for the
  /// first of all, else 0; empty: not read.
  virtual void sample(std::int64_t index, std::span<std::int32_t> out,
                      std::span<std::int32_t> labels = {},
                      std::span<std::uint8_t> starts = {}) const = 0;
  /// Position of sample `index`.
  virtual SamplePosition position(std::int64_t index) const = 0;
  /// Error where a file that was read was truncated while it was open. Call it once per batch, as
  /// it calls the file system.
  virtual void check_lengths() const = 0;

 protected:
  SampleReader() = default;
  SampleReader(const SampleReader&) = default;
  SampleReader(SampleReader&&) = default;
  SampleReader& operator=(const SampleReader&) = default;
  SampleReader& operator=(SampleReader&&) = default;
};

}  // namespace triax
