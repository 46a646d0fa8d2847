// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's indexed dataset (megatron/core/datasets/indexed_dataset.py). The .idx file holds:
// magic, version (u64), type code (u8), number of sequences (u64), number of document boundaries
// (u64), lengths (i32 per sequence), byte offsets into the .bin (i64 per sequence), document
// boundaries (i64 each), and, for multimodal sets, a mode (i8 per sequence).
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "io/hub/lfs_pointer.hpp"
#include "io/tokens/token_convert.hpp"
#include "io/tokens/token_formats.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

using namespace std::string_view_literals;
constexpr std::string_view magic = "MMIDIDX\0\0"sv;
constexpr std::size_t header_bytes = 9 + 8 + 1 + 8 + 8;
constexpr const char* remedy =
    "Write the pair again with Megatron's preprocess_data.py, or copy both files whole";

struct TokenType {
  std::size_t bytes;
  void (*convert)(const std::byte* from, std::span<std::int32_t> out);
};

TokenType type_of(int code, const std::string& path) {
  switch (code) {
    case 1:
      return {1, convert_tokens<std::uint8_t>};
    case 2:
      return {1, convert_tokens<std::int8_t>};
    case 3:
      return {2, convert_tokens<std::int16_t>};
    case 4:
      return {4, convert_tokens<std::int32_t>};
    case 5:
      return {8, convert_tokens<std::int64_t>};
    case 8:
      return {2, convert_tokens<std::uint16_t>};
    default:
      throw Error(fmt::format("{} does not hold token ids", path),
                  fmt::format("its type code is {}{}; integers are 1 to 5 and 8", code,
                              code == 6 || code == 7 ? ", a floating-point type" : ""),
                  remedy);
  }
}

class MegatronFile : public TokenFile {
 public:
  MegatronFile(MappedFile index, MappedFile tokens)
      : index_(std::move(index)), tokens_(std::move(tokens)) {
    parse_header();
    scan_sequences();
  }
  std::int64_t size() const override { return size_; }
  void check_length() const override {
    index_.check_length();
    tokens_.check_length();
  }
  std::string_view format() const override { return "megatron"; }

  void read(std::int64_t begin, std::span<std::int32_t> out) const override {
    check_token_range(*this, begin, out);
    if (contiguous_) return type_.convert(at(first_offset_ + begin * width()), out);
    if (out.empty()) return;
    const auto after = std::ranges::upper_bound(block_begin_, begin);
    const std::ptrdiff_t block = after - block_begin_.begin() - 1;
    std::int64_t within = begin - block_begin_[static_cast<std::size_t>(block)];
    for (std::int64_t sequence = block * block_sequences; !out.empty(); ++sequence) {
      const std::int64_t count = length(sequence);
      if (within >= count) {
        within -= count;
        continue;
      }
      const auto part = std::min(static_cast<std::size_t>(count - within), out.size());
      type_.convert(at(offset(sequence) + within * width()), out.first(part));
      out = out.subspan(part);
      within = 0;
    }
  }
  bool has_documents() const override { return documents_ > 1; }
  void read_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override {
    std::ranges::fill(starts, std::uint8_t{0});
    const std::int64_t end = begin + std::ssize(starts);
    // The first document that begins at `begin` or later.
    std::int64_t low = 0, high = documents_;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (first_token(middle) < begin)
        low = middle + 1;
      else
        high = middle;
    }
    for (std::int64_t at = 0; low < documents_ && (at = first_token(low)) < end; ++low) {
      if (at < begin) refuse_document(low);
      starts[static_cast<std::size_t>(at - begin)] = 1;
    }
  }

 private:
  // For scattered sequences the first token of every 128th sequence is stored: 1/192 of the index.
  static constexpr std::int64_t block_sequences = 128;

  std::int64_t width() const { return static_cast<std::int64_t>(type_.bytes); }
  const std::byte* at(std::int64_t offset) const { return tokens_.data() + offset; }
  std::int64_t length(std::int64_t sequence) const {
    return load<std::int32_t>(index_.data() + header_bytes + sequence * 4);
  }
  std::int64_t offset(std::int64_t sequence) const {
    return load<std::int64_t>(index_.data() + header_bytes + sequences_ * 4 + sequence * 8);
  }

  // Index of the first token of a document, or of the end of the last one.
  std::int64_t first_token(std::int64_t document) const {
    std::int64_t sequence =
        load<std::int64_t>(index_.data() + header_bytes + sequences_ * 12 + document * 8);
    if (sequence < 0 || sequence > sequences_) refuse_document(document);
    if (contiguous_) {
      while (sequence < sequences_ && length(sequence) == 0) ++sequence;  // nothing says where
      return sequence == sequences_ ? size_ : (offset(sequence) - first_offset_) / width();
    }
    if (sequence == sequences_) return size_;
    std::int64_t token = block_begin_[static_cast<std::size_t>(sequence / block_sequences)];
    for (std::int64_t s = sequence / block_sequences * block_sequences; s < sequence; ++s)
      token += length(s);
    return token;
  }
  [[noreturn]] void refuse_document(std::int64_t document) const {
    throw Error(index_.path() + " is a damaged Megatron index",
                fmt::format("boundary {} of its documents does not fit its {} sequences", document,
                            sequences_),
                remedy);
  }

  void parse_header() {
    refuse_lfs_pointer(index_);
    refuse_lfs_pointer(tokens_);
    if (!is_megatron_index(index_))
      throw Error(index_.path() + " is not a Megatron index",
                  fmt::format("{} bytes, which do not begin with \"MMIDIDX\"", index_.size()),
                  remedy);
    if (index_.size() < header_bytes)
      throw Error(index_.path() + " is a truncated Megatron index",
                  fmt::format("{} bytes, the header alone has {}", index_.size(), header_bytes),
                  remedy);
    const std::byte* const p = index_.data();
    const auto version = load<std::uint64_t>(p + 9);
    if (version != 1)
      throw Error(fmt::format("{} is a Megatron index of version {}", index_.path(), version),
                  "only version 1 is known", remedy);
    type_ = type_of(load<std::uint8_t>(p + 17), index_.path());
    const auto sequences = load<std::uint64_t>(p + 18);
    const auto documents = load<std::uint64_t>(p + 26);
    const std::uint64_t room = index_.size() - header_bytes;
    // Division first: the product of a damaged count could overflow.
    const bool fits = sequences <= room / 12 && documents <= room / 8;
    const std::uint64_t expected = fits ? sequences * 12 + documents * 8 : 0;
    if (!fits || (room != expected && room != expected + sequences))
      throw Error(index_.path() + " is a damaged Megatron index",
                  fmt::format("{} sequences and {} document boundaries do not make its {} bytes",
                              sequences, documents, index_.size()),
                  remedy);
    sequences_ = static_cast<std::int64_t>(sequences);
    documents_ = static_cast<std::int64_t>(documents);
  }

  void scan_sequences() {
    const auto bytes = static_cast<std::int64_t>(tokens_.size());
    for (std::int64_t s = 0; s < sequences_; ++s) {
      const std::int64_t count = length(s);
      const std::int64_t from = offset(s);
      if (count < 0 || from < 0 || from > bytes || count > (bytes - from) / width())
        throw Error(
            fmt::format("{} does not fit {}", tokens_.path(), index_.path()),
            fmt::format("sequence {} is {} tokens of {} bytes at byte {}, the file has {} bytes", s,
                        count, width(), from, bytes),
            remedy);
      if (s == 0) first_offset_ = from;
      if (count > 0 && from != first_offset_ + size_ * width()) contiguous_ = false;
      if (s % block_sequences == 0) block_begin_.push_back(size_);
      size_ += count;
    }
    if (size_ == 0)
      throw Error(tokens_.path() + " holds no tokens",
                  fmt::format("{} sequences, all of them empty", sequences_), remedy);
    if (contiguous_) block_begin_ = {};
  }

  MappedFile index_, tokens_;
  TokenType type_{};
  std::int64_t sequences_ = 0;
  std::int64_t documents_ = 0;  // boundaries of documents: one more than there are
  std::int64_t size_ = 0;
  std::int64_t first_offset_ = 0;          // bytes
  bool contiguous_ = true;                 // the sequences adjoin in the .bin
  std::vector<std::int64_t> block_begin_;  // index of the first token of every 128th sequence
};

}  // namespace

bool is_megatron_index(const MappedFile& file) {
  return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

std::unique_ptr<TokenFile> open_megatron(const std::string& prefix) {
  for (const auto& [file, other] : {std::pair{".bin", ".idx"}, std::pair{".idx", ".bin"}})
    if (std::error_code error; !std::filesystem::exists(prefix + file, error) && !error)
      throw Error(fmt::format("there is no {}{} beside {}{}", prefix, file, prefix, other),
                  "a Megatron data set is a pair: .bin has the tokens, .idx says where they are",
                  "Copy both files, or correct the name");
  return std::make_unique<MegatronFile>(MappedFile(prefix + ".idx"), MappedFile(prefix + ".bin"));
}

}  // namespace triax
