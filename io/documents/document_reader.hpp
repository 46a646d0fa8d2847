// SPDX-License-Identifier: Apache-2.0
#pragma once
// Documents of a file, or of a range of it, in bounded memory.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/documents/input_files.hpp"

namespace triax {

enum class InvalidText : std::uint8_t { error, replace, skip };

struct DocumentOptions {
  std::vector<std::string> keys = {"text"};  // of JSON lines; several strings are joined
  std::string join = "\n";
  InvalidText invalid = InvalidText::error;
};

/// Numbers of one reader.
struct ReadCounts {
  std::int64_t replaced = 0;  // ill-formed UTF-8 sequences replaced by U+FFFD
  std::int64_t invalid = 0;   // documents left out for their UTF-8
  std::int64_t bad_lines = 0;
};

class DocumentReader {
 public:
  struct Piece {
    std::string_view text;  // valid UTF-8, not empty; valid until the next call
    bool last = true;       // the document ends here
    bool left_out = false;  // the document is to be left out, for text that is no UTF-8
  };

  virtual ~DocumentReader() = default;
  /// The next piece of a document (text_pieces.hpp), false at the end. Documents without text are
  /// passed over. Error with file, line and byte for text that is no UTF-8 (InvalidText::error).
  virtual bool next(Piece& piece) = 0;
  /// Bytes of the file read so far, as they lie on disk.
  virtual std::int64_t taken() const = 0;
  const ReadCounts& counts() const { return counts_; }

 protected:
  ReadCounts& counted() { return counts_; }

 private:
  ReadCounts counts_;
};

/// Range of a file: of an uncompressed file of lines, the lines that begin in it; of an
/// uncompressed text, the pieces whose nominal cuts are in it, so that `begin` and `end` are
/// multiples of piece_bytes. A compressed file is read whole.
struct ByteRange {
  std::int64_t begin = 0, end = 0;
};

/// `bad_line` gets the problem and the reason of a line that is no JSON object with the keys, or
/// too long; it throws, or the line is passed over. `file` and `options` outlive the reader.
using BadLine = std::function<void(const std::string& problem, const std::string& why)>;
std::unique_ptr<DocumentReader> open_documents(const InputFile& file, ByteRange range,
                                               const DocumentOptions& options, BadLine bad_line);

}  // namespace triax
