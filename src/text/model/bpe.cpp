// SPDX-License-Identifier: Apache-2.0
#include "src/text/model/bpe.hpp"

#include <fmt/format.h>

#include <array>

#include "src/text/model/bpe_merge.hpp"
#include "src/text/model/word_cache.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

class Bpe final : public Model {
 public:
  explicit Bpe(BpeParts parts) : parts_(std::move(parts)) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      bytes_[byte] = parts_.vocabulary.find(std::string_view(&c, 1));
      fallback_[byte] = parts_.vocabulary.find(fmt::format("<0x{:02X}>", byte));
    }
  }

  std::unique_ptr<Session> session() const override;
  const Vocabulary& vocabulary() const override { return parts_.vocabulary; }
  const BpeParts& parts() const { return parts_; }

  // Symbols of a piece before any merge.
  void symbols_of(std::string_view piece, std::vector<std::int32_t>& symbols) const {
    const char* const end = piece.data() + piece.size();
    bool unknown = false;  // an unknown character waits for others to be fused with it
    for (const char* at = piece.data(); at < end;) {
      const std::size_t bytes = parts_.byte_level ? 1 : code_point_at(at, end).bytes;
      const std::int32_t id =
          bytes == 1 ? byte_id(*at) : parts_.vocabulary.find(std::string_view(at, bytes));
      if (id >= 0) {
        if (unknown) symbols.push_back(parts_.unk);
        unknown = false;
        symbols.push_back(id);
      } else if (!fall_back(std::string_view(at, bytes), symbols) && parts_.unk >= 0) {
        if (unknown && !parts_.fuse_unk) symbols.push_back(parts_.unk);
        unknown = true;
      }
      at += bytes;
    }
    if (unknown) symbols.push_back(parts_.unk);
  }

 private:
  std::int32_t byte_id(char byte) const { return bytes_[static_cast<unsigned char>(byte)]; }
  // Appends the tokens of a character's bytes, if there is one for each.
  bool fall_back(std::string_view character, std::vector<std::int32_t>& symbols) const {
    if (!parts_.byte_fallback) return false;
    for (const unsigned char byte : character)
      if (fallback_[byte] < 0) return false;
    for (const unsigned char byte : character) symbols.push_back(fallback_[byte]);
    return true;
  }

  BpeParts parts_;
  std::array<std::int32_t, 256> bytes_{}, fallback_{};
};

class BpeSession final : public Model::Session {
 public:
  explicit BpeSession(const Bpe& model) : model_(model) {}

  void encode(std::string_view text, std::size_t begin, std::span<const Cut> cuts,
              std::vector<std::int32_t>& ids) override {
    for (const Cut& cut : cuts) {
      const std::string_view piece = text.substr(begin, cut.end - begin);
      const bool readable = begin + 16 <= text.size();
      begin = cut.end;
      if (model_.parts().cut_before_blank)
        encode_words(piece, ids);
      else
        encode_word(piece, readable, ids);
    }
    flush(ids);
  }

 private:
  // Cuts before each "▁" that follows another character.
  void encode_words(std::string_view piece, std::vector<std::int32_t>& ids) {
    std::size_t start = 0;
    for (std::size_t at = 0; at < piece.size();) {
      const std::size_t blank = piece.find(blank_mark, at);
      if (blank == piece.npos) break;
      const bool after_blank = blank >= 3 && piece.substr(blank - 3, 3) == blank_mark;
      if (blank > start && !after_blank) {
        encode_word(piece.substr(start, blank - start), start + 16 <= piece.size(), ids);
        start = blank;
      }
      at = blank + blank_mark.size();
    }
    if (start < piece.size()) encode_word(piece.substr(start), start + 16 <= piece.size(), ids);
  }

  void encode_word(std::string_view word, bool readable, std::vector<std::int32_t>& ids) {
    if (word.empty()) return;
    if (word.size() > ShortWordCache::longest) return encode_long(word, ids);
    const ShortWord key = short_word(word.data(), word.size(), readable);
    if (const ShortWordCache::Entry* entry = short_.find(key)) {
      if (count_ + 3 > pending_.size()) flush(ids);
      for (std::size_t i = 0; i < 3; ++i) pending_[count_ + i] = entry->ids[i];
      count_ += static_cast<std::size_t>(entry->count);
      return;
    }
    flush(ids);
    if (long_.find(word, ids)) return;
    compute(word);
    ids.insert(ids.end(), symbols_.begin(), symbols_.end());
    if (symbols_.size() <= 3)
      short_.add(key, symbols_);
    else
      long_.add(word, symbols_);
  }

  void encode_long(std::string_view word, std::vector<std::int32_t>& ids) {
    flush(ids);
    const bool remembered = word.size() <= LongWordCache::longest;
    if (remembered && long_.find(word, ids)) return;
    compute(word);
    ids.insert(ids.end(), symbols_.begin(), symbols_.end());
    if (remembered) long_.add(word, symbols_);
  }

  // Ids of a word that is not remembered, in symbols_.
  void compute(std::string_view word) {
    symbols_.clear();
    const BpeParts& parts = model_.parts();
    if (parts.ignore_merges)
      if (const std::int32_t id = parts.vocabulary.find(word); id >= 0)
        return symbols_.push_back(id);
    model_.symbols_of(word, symbols_);
    merger_.merge(parts.merges, symbols_);
  }

  void flush(std::vector<std::int32_t>& ids) {
    ids.insert(ids.end(), pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count_));
    count_ = 0;
  }

  const Bpe& model_;
  BpeMerger merger_;
  ShortWordCache short_;
  LongWordCache long_;
  std::vector<std::int32_t> symbols_;
  std::array<std::int32_t, 2048> pending_{};  // ids on their way, so that a word costs no call
  std::size_t count_ = 0;
};

std::unique_ptr<Model::Session> Bpe::session() const {
  return std::make_unique<BpeSession>(*this);
}

}  // namespace

bool has_blank_inside(std::string_view token) {
  for (std::size_t at = token.find(blank_mark, 1); at != token.npos;
       at = token.find(blank_mark, at + 1))
    if (at < 3 || token.substr(at - 3, 3) != blank_mark) return true;
  return false;
}

std::unique_ptr<const Model> make_bpe(BpeParts parts) {
  return std::make_unique<Bpe>(std::move(parts));
}

}  // namespace triax
