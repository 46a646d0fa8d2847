// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/parts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "io/documents/byte_source.hpp"
#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// A record: hash, tokens * 4 + flags. The numbers of the part stand behind the records.
using Record = std::array<std::uint64_t, 3>;
constexpr std::uint64_t last_flag = 1, left_out_flag = 2;
constexpr const char* unfinished = ".tmp";

std::string records_path(const std::string& directory, std::size_t unit) {
  return fmt::format("{}/{:06d}.documents", directory, unit);
}

}  // namespace

void read_part(const std::string& path, std::int64_t begin, std::span<std::byte> out) {
  const auto source = open_plain(path, begin);
  const std::span<char> bytes(reinterpret_cast<char*>(out.data()), out.size());
  for (std::size_t filled = 0; filled < bytes.size();) {
    const std::size_t count = source->read(bytes.subspan(filled));
    if (count == 0)
      throw Error(path + " is damaged", "it is shorter than its part",
                  "Remove its directory and run the command again");
    filled += count;
  }
}

std::string part_tokens_path(const std::string& directory, std::size_t unit) {
  return fmt::format("{}/{:06d}.tokens", directory, unit);
}

PartWriter::PartWriter(const std::string& directory, std::size_t unit, int width)
    : tokens_path_(part_tokens_path(directory, unit)),
      records_path_(records_path(directory, unit)),
      tokens_(tokens_path_ + unfinished),
      records_(records_path_ + unfinished),
      width_(width) {}

PartWriter::~PartWriter() {
  if (finished_) return;
  std::error_code ignored;
  std::filesystem::remove(tokens_path_ + unfinished, ignored);
  std::filesystem::remove(records_path_ + unfinished, ignored);
}

void PartWriter::add(std::span<const std::int32_t> ids, const TextHash& hash, bool last,
                     bool left_out) {
  if (width_ == 2) {
    narrow_.resize(ids.size());
    std::ranges::transform(ids, narrow_.begin(),
                           [](std::int32_t id) { return static_cast<std::uint16_t>(id); });
    tokens_.append_values(std::span<const std::uint16_t>(narrow_));
  } else {
    tokens_.append_values(ids);
  }
  const Record record = {hash.low, hash.high,
                         ids.size() * 4 | (last ? last_flag : 0) | (left_out ? left_out_flag : 0)};
  records_.append_values(std::span<const std::uint64_t>(record));
  ++counts_.records;
  counts_.documents += last ? 1 : 0;
  counts_.tokens += std::ssize(ids);
}

void PartWriter::finish(PartCounts counts) {
  counts.records = counts_.records;
  counts.documents = counts_.documents;
  counts.tokens = counts_.tokens;
  records_.append_values(std::span<const PartCounts>(&counts, 1));
  records_.close();
  tokens_.close();
  // The tokens make the part whole: their name comes last.
  rename_path(records_path_ + unfinished, records_path_);
  rename_durably(tokens_path_ + unfinished, tokens_path_);
  finished_ = true;
}

std::optional<PartCounts> part_counts(const std::string& directory, std::size_t unit) {
  std::error_code error;
  if (!std::filesystem::exists(part_tokens_path(directory, unit), error)) return {};
  const std::string path = records_path(directory, unit);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  const std::int64_t begin = bytes - static_cast<std::int64_t>(sizeof(PartCounts));
  if (error || begin < 0) return {};
  PartCounts counts;
  read_part(path, begin, std::as_writable_bytes(std::span(&counts, 1)));
  return counts;
}

void DocumentScan::open_part() {
  const auto counts = part_counts(directory_, part_);
  if (!counts)
    throw Error(fmt::format("part {} of {} is missing", part_, directory_),
                "it was removed during the work, or this node does not see it",
                "Write to a file system that all nodes share, and run the command again");
  left_ = counts->records;
  file_at_ = offset_ = 0;
  block_.clear();
  at_ = 0;
  open_ = true;
}

bool DocumentScan::next_record(PieceRecord& record) {
  constexpr std::int64_t block_records = 8192;
  while (!open_ || left_ == 0) {
    if (open_) ++part_;
    if (part_ == parts_) return open_ = false;
    open_part();
  }
  if (at_ == block_.size()) {
    block_.resize(static_cast<std::size_t>(std::min(left_, block_records)) * sizeof(Record));
    read_part(records_path(directory_, part_), file_at_, block_);
    file_at_ += std::ssize(block_);
    at_ = 0;
  }
  Record stored{};
  std::memcpy(stored.data(), block_.data() + at_, sizeof stored);
  at_ += sizeof stored;
  --left_;
  record = {.hash = {stored[0], stored[1]},
            .tokens = stored[2] / 4,
            .last = (stored[2] & last_flag) != 0,
            .left_out = (stored[2] & left_out_flag) != 0};
  return true;
}

bool DocumentScan::next(Document& document) {
  PieceRecord record;
  if (!next_record(record)) return false;
  document = {.hash = record.hash,
              .unit = static_cast<std::int64_t>(part_),
              .offset = offset_,
              .left_out = record.left_out};
  while (true) {
    document.tokens += static_cast<std::int64_t>(record.tokens);
    document.left_out = document.left_out || record.left_out;
    offset_ += static_cast<std::int64_t>(record.tokens);
    if (record.last || !next_record(record)) return true;
    document.hash = joined(document.hash, record.hash);
  }
}

}  // namespace triax
