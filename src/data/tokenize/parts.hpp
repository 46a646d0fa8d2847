// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts: the encoded documents of one unit, on disk between encoding and output. A part that has
// its name is whole.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/files/output_file.hpp"
#include "src/data/tokenize/text_hash.hpp"

namespace triax {

/// A piece of a document as a part stores it.
struct PieceRecord {
  TextHash hash;
  std::uint64_t tokens = 0;
  bool last = true;       // of its document
  bool left_out = false;  // so is the document
};

/// Numbers of a part.
struct PartCounts {
  std::int64_t records = 0;
  std::int64_t documents = 0;  // that end in the part
  std::int64_t tokens = 0;
  std::int64_t sure = 0;  // documents that are within the part and long enough
  std::int64_t replaced = 0, invalid = 0, bad_lines = 0;
};

class PartWriter {
 public:
  /// Part `unit` in `directory`; tokens of `width` bytes (2 or 4).
  PartWriter(const std::string& directory, std::size_t unit, int width);
  /// Removes a part that was not finished: it may fill the disk.
  ~PartWriter();
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;
  /// Appends a piece. `ids` are in the range that `width` allows.
  void add(std::span<const std::int32_t> ids, const TextHash& hash, bool last, bool left_out);
  /// Writes the numbers, but those of records and tokens, and gives the part its name.
  void finish(PartCounts counts);
  const PartCounts& counts() const { return counts_; }

 private:
  std::string tokens_path_, records_path_;
  OutputFile tokens_, records_;
  int width_;
  std::vector<std::uint16_t> narrow_;
  PartCounts counts_;
  bool finished_ = false;
};

/// Numbers of part `unit`; nothing where it does not exist.
std::optional<PartCounts> part_counts(const std::string& directory, std::size_t unit);

/// File of a part's tokens.
std::string part_tokens_path(const std::string& directory, std::size_t unit);

/// Bytes [begin, begin + out.size()) of a file of a part. Error where it is shorter.
void read_part(const std::string& path, std::int64_t begin, std::span<std::byte> out);

/// The pieces of parts 0, 1, ... in order, as documents.
class DocumentScan {
 public:
  struct Document {
    TextHash hash;
    std::int64_t tokens = 0;
    std::int64_t unit = 0, offset = 0;  // of its first token: part, tokens from the part's begin
    bool left_out = false;
  };

  DocumentScan(std::string directory, std::size_t parts)
      : directory_(std::move(directory)), parts_(parts) {}
  /// False after the last document of the last part.
  bool next(Document& document);

 private:
  bool next_record(PieceRecord& record);
  void open_part();

  std::string directory_;
  std::size_t parts_;
  std::size_t part_ = 0;  // being read
  bool open_ = false;
  std::int64_t file_at_ = 0;  // bytes of the records read into block_
  std::int64_t left_ = 0;     // records of the part not read yet
  std::int64_t offset_ = 0;   // tokens of the part before the next record
  std::vector<std::byte> block_;
  std::size_t at_ = 0;
};

}  // namespace triax
