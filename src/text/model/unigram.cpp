// SPDX-License-Identifier: Apache-2.0
#include "src/text/model/unigram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "kernels/base/check.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

constexpr double unk_penalty = 10.0;

class Unigram final : public Model {
 public:
  explicit Unigram(UnigramParts parts) : parts_(std::move(parts)) {
    for (std::int32_t id = 0; id < parts_.vocabulary.size(); ++id) {
      const auto at = static_cast<std::size_t>(id);
      const std::string_view text = parts_.vocabulary.text(id);
      if (!parts_.usable[at]) continue;
      least_ = std::min(least_, parts_.scores[at]);
      if (!text.empty() && parts_.vocabulary.find(text) == id) sorted_.push_back({text, id});
    }
    std::ranges::sort(sorted_, {}, &Token::text);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto first = [](const Token& token) {
        return static_cast<unsigned char>(token.text.front());
      };
      begins_[byte + 1] = static_cast<std::size_t>(
          std::ranges::upper_bound(sorted_, byte, {}, first) - sorted_.begin());
      fallback_[byte] = parts_.vocabulary.find(fmt::format("<0x{:02X}>", byte));
    }
    if (parts_.least) least_ = *parts_.least;
  }

  std::unique_ptr<Session> session() const override;
  const Vocabulary& vocabulary() const override { return parts_.vocabulary; }
  const UnigramParts& parts() const { return parts_; }
  double unk_score() const { return least_ - unk_penalty; }

  // Calls visit(bytes, id) for each token that `text` begins with, the shortest first.
  template <class Visit>
  void prefixes(std::string_view text, Visit&& visit) const {
    const auto byte = static_cast<unsigned char>(text.front());
    auto first = sorted_.begin() + static_cast<std::ptrdiff_t>(begins_[byte]);
    auto last = sorted_.begin() + static_cast<std::ptrdiff_t>(begins_[byte + 1U]);
    for (std::size_t n = 1; first != last; ++n) {
      if (first->text.size() == n) visit(n, (first++)->id);
      if (n == text.size() || first == last) return;
      const auto next = static_cast<unsigned char>(text[n]);
      const auto byte_of = [n](const Token& token) {
        return static_cast<unsigned char>(token.text[n]);
      };
      first = std::ranges::lower_bound(first, last, next, {}, byte_of);
      last = std::ranges::upper_bound(first, last, next, {}, byte_of);
    }
  }

  // Ids of text that is no token.
  void unknown(std::string_view text, std::vector<std::int32_t>& ids) const {
    if (!parts_.single)  // Hugging Face looks the run up again
      if (const std::int32_t id = parts_.vocabulary.find(text); id >= 0) return ids.push_back(id);
    const auto missing = [&](char byte) { return fallback_[static_cast<unsigned char>(byte)] < 0; };
    if (parts_.byte_fallback && std::ranges::none_of(text, missing)) {
      for (const unsigned char byte : text) ids.push_back(fallback_[byte]);
      return;
    }
    if (parts_.unk < 0)
      throw UsageError(fmt::format("\"{}\" is not in the vocabulary", text),
                       "the tokenizer has no unknown token", "Remove it from the text");
    ids.push_back(parts_.unk);
  }

 private:
  struct Token {
    std::string_view text;
    std::int32_t id;
  };

  UnigramParts parts_;
  double least_ = 0.0;                     // score of the least likely token
  std::vector<Token> sorted_;              // by text
  std::array<std::size_t, 257> begins_{};  // first token of each first byte
  std::array<std::int32_t, 256> fallback_{};
};

class UnigramSession final : public Model::Session {
 public:
  explicit UnigramSession(const Unigram& model) : model_(model) {}

  void encode(std::string_view text, std::size_t begin, std::span<const Cut> cuts,
              std::vector<std::int32_t>& ids) override {
    for (const Cut& cut : cuts) {
      if (model_.parts().single)
        segment<float>(text.substr(begin, cut.end - begin), ids);
      else
        segment<double>(text.substr(begin, cut.end - begin), ids);
      begin = cut.end;
    }
  }

 private:
  struct Node {
    double score = 0;
    std::size_t start = none;
    std::int32_t id = -1;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  // Viterbi: the best way to each byte, then back from the end.
  template <class T>
  void segment(std::string_view text, std::vector<std::int32_t>& ids) {
    const UnigramParts& parts = model_.parts();
    nodes_.assign(text.size() + 1, Node{});
    const char* const end = text.data() + text.size();
    for (std::size_t at = 0; at < text.size();) {
      const T here = static_cast<T>(nodes_[at].score);
      const std::size_t character = code_point_at(text.data() + at, end).bytes;
      const auto reach = [&](std::size_t bytes, double score, std::int32_t id) {
        Node& node = nodes_[at + bytes];
        const T sum = static_cast<T>(score) + here;
        if (node.start == none || sum > static_cast<T>(node.score)) node = {sum, at, id};
      };
      bool single = false;
      model_.prefixes(text.substr(at), [&](std::size_t bytes, std::int32_t id) {
        reach(bytes, parts.scores[static_cast<std::size_t>(id)], id);
        single = single || bytes == character;
      });
      if (!single) reach(character, static_cast<T>(model_.unk_score()), -1);
      at += character;
    }
    emit(text, ids);
  }

  void emit(std::string_view text, std::vector<std::int32_t>& ids) {
    path_.clear();
    for (std::size_t at = text.size(); at > 0; at = nodes_[at].start) path_.push_back(at);
    std::ranges::reverse(path_);
    const std::int32_t unk = model_.parts().unk;
    const auto is_unknown = [&](std::size_t end) {
      return nodes_[end].id < 0 || nodes_[end].id == unk;
    };
    for (std::size_t i = 0; i < path_.size(); ++i) {
      if (!is_unknown(path_[i])) {
        ids.push_back(nodes_[path_[i]].id);
        continue;
      }
      const std::size_t start = nodes_[path_[i]].start;
      while (i + 1 < path_.size() && is_unknown(path_[i + 1])) ++i;
      model_.unknown(text.substr(start, path_[i] - start), ids);
    }
  }

  const Unigram& model_;
  std::vector<Node> nodes_;  // of each byte where a token may end
  std::vector<std::size_t> path_;
};

std::unique_ptr<Model::Session> Unigram::session() const {
  return std::make_unique<UnigramSession>(*this);
}

}  // namespace

std::unique_ptr<const Model> make_unigram(UnigramParts parts) {
  return std::make_unique<Unigram>(std::move(parts));
}

}  // namespace triax
