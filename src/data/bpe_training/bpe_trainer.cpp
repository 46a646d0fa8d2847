// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/bpe_trainer.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "kernels/base/check.hpp"
#include "kernels/base/utf8.hpp"
#include "src/data/bpe_training/merge_effects.hpp"
#include "src/data/bpe_training/pair_queue.hpp"
#include "src/data/bpe_training/thread_team.hpp"
#include "src/text/model/vocabulary.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

using Side = MergeEffects::Side;

class BpeTrainer {
 public:
  BpeTrainer(TokenWords& words, const BpeOptions& options, int threads)
      : words_(words),
        options_(options),
        team_(threads),
        effects_(static_cast<std::size_t>(threads)) {
    for (const std::string& token : first_tokens(options.special)) add_token(token);
    for (auto& side : totals_) side.resize(static_cast<std::size_t>(options.vocabulary));
  }

  TrainedBpe run(const std::function<void(std::int64_t)>& progress) {
    const std::size_t first = tokens_.size();
    words_.each_pair(lists_,
                     [&](TokenPair pair, std::int64_t count, std::span<const std::uint32_t> words) {
                       counts_.add(pair, count);
                       queue_.push({count, pair, words});
                     });
    while (std::ssize(tokens_) < options_.vocabulary && !queue_.empty()) {
      QueuedPair top = queue_.pop();
      const std::int64_t count = counts_.of(top.pair);
      if (top.count != count) {  // merges have taken occurrences away
        top.count = count;
        queue_.push(top);
        continue;
      }
      if (count < 1 || count < options_.min_frequency) break;
      merge(top);
      progress(std::ssize(tokens_) - static_cast<std::int64_t>(first));
    }
    return {std::move(tokens_), std::move(merges_)};
  }

 private:
  // A neighbor of a merge, summed over threads.
  struct Total {
    Neighbor sums;
    std::span<std::uint32_t> list;  // words that gained the pair
    std::size_t filled = 0;
  };

  std::int32_t add_token(const std::string& token) {
    const auto id = static_cast<std::int32_t>(tokens_.size());
    const auto [at, is_new] = ids_.emplace(token, id);
    if (is_new) {
      tokens_.push_back(token);
      lengths_.push_back(1);
    }
    return at->second;
  }
  std::int64_t length(std::int32_t id) const { return lengths_[static_cast<std::size_t>(id)]; }

  void merge(const QueuedPair& top) {
    const std::int32_t left = left_of(top.pair), right = right_of(top.pair);
    const std::int64_t bytes = length(left) + length(right);
    // Words make a token in one way, as no merge crosses its ends; but it may be special, too.
    const std::int32_t made = add_token(tokens_[static_cast<std::size_t>(left)] +
                                        tokens_[static_cast<std::size_t>(right)]);
    lengths_[static_cast<std::size_t>(made)] = bytes;
    merges_.emplace_back(left, right);
    const TokenMerge merge{left, right, made};
    apply(top.words, merge);
    sum_up();
    count_pairs(merge);
    list_words();
    queue_pairs(merge);
    for (const Side side : {Side::before, Side::after}) {
      for (const std::int32_t id : met_[side]) total(side, id) = {};
      met_[side].clear();
    }
    for (MergeEffects& effects : effects_) effects.clear();
  }

  void apply(std::span<const std::uint32_t> list, const TokenMerge& merge) {
    constexpr std::size_t least = 2048;  // words per thread that are worth waking it
    const auto threads = std::clamp<std::size_t>(list.size() / least, 1, effects_.size());
    if (threads == 1) return effects_[0].apply(words_, list, merge, tokens_.size());
    const std::size_t share = (list.size() + threads - 1) / threads;
    team_.run([&](int t) {
      const std::size_t begin = std::min(list.size(), static_cast<std::size_t>(t) * share);
      effects_[static_cast<std::size_t>(t)].apply(
          words_, list.subspan(begin, std::min(share, list.size() - begin)), merge, tokens_.size());
    });
  }

  Total& total(Side side, std::int32_t id) { return totals_[side][static_cast<std::size_t>(id)]; }

  void sum_up() {
    for (const Side side : {Side::before, Side::after})
      for (const MergeEffects& effects : effects_)
        for (const std::int32_t id : effects.met(side)) {
          const Neighbor& neighbor = effects.neighbor(side, id);
          Neighbor& sums = total(side, id).sums;
          if (sums.lost == 0 && sums.gained == 0) met_[side].push_back(id);
          sums.lost += neighbor.lost;
          sums.gained += neighbor.gained;
          sums.words += neighbor.words;
        }
  }

  static TokenPair gained_pair(Side side, std::int32_t id, const TokenMerge& merge) {
    return side == Side::before ? pair_of(id, merge.made) : pair_of(merge.made, id);
  }
  bool may_grow(std::int32_t id, const TokenMerge& merge) const {
    return length(id) < options_.max_token_length - length(merge.made);
  }

  // The merged pair itself keeps its count: it does not come again.
  void count_pairs(const TokenMerge& merge) {
    for (const Side side : {Side::before, Side::after})
      for (const std::int32_t id : met_[side]) {
        Total& sums = total(side, id);
        const TokenPair lost =
            side == Side::before ? pair_of(id, merge.left) : pair_of(merge.right, id);
        if (sums.sums.lost > 0) counts_.add(lost, -sums.sums.lost);
        if (sums.sums.gained == 0 || !may_grow(id, merge)) continue;
        counts_.add(gained_pair(side, id, merge), sums.sums.gained);
        sums.list = lists_.make(sums.sums.words);
      }
  }

  void list_words() {
    for (const MergeEffects& effects : effects_)
      for (const MergeEffects::Gain& gain : effects.gains()) {
        Total& sums = total(gain.side, gain.neighbor);
        if (!sums.list.empty()) sums.list[sums.filled++] = gain.word;
      }
  }

  void queue_pairs(const TokenMerge& merge) {
    for (const Side side : {Side::before, Side::after})
      for (const std::int32_t id : met_[side]) {
        const Total& sums = total(side, id);
        if (sums.list.empty()) continue;
        const TokenPair pair = gained_pair(side, id, merge);
        if (const std::int64_t count = counts_.of(pair); count > 0)
          queue_.push({count, pair, sums.list});
      }
  }

  TokenWords& words_;
  const BpeOptions& options_;
  std::vector<std::string> tokens_;    // by id
  std::vector<std::int64_t> lengths_;  // bytes of tokens
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<std::pair<std::int32_t, std::int32_t>> merges_;
  PositionLists lists_;
  PairCounts counts_;
  PairQueue queue_;
  ThreadTeam team_;
  std::vector<MergeEffects> effects_;  // by thread
  std::array<std::vector<Total>, 2> totals_;
  std::array<std::vector<std::int32_t>, 2> met_;
};

}  // namespace

std::vector<std::string> first_tokens(const std::vector<std::string>& special) {
  std::vector<std::string> tokens;
  for (const std::string& token : special) {
    if (token.empty() || !is_utf8(token))
      throw UsageError("a special token is " + std::string(token.empty() ? "empty" : "not UTF-8"),
                       {}, "Give it a text, as <|endoftext|>");
    if (std::ranges::find(tokens, token) != tokens.end())
      throw UsageError(fmt::format("the special token {} is given twice", token), {},
                       "Give it once");
    tokens.push_back(token);
  }
  std::vector<std::string> characters = byte_alphabet();
  std::ranges::sort(characters);  // UTF-8 sorts by code point
  for (const std::string& character : characters)
    if (std::ranges::find(special, character) == special.end()) tokens.push_back(character);
  return tokens;
}

ByteIds byte_ids(const std::vector<std::string>& first_tokens) {
  ByteIds ids{};
  for (std::size_t byte = 0; byte < ids.size(); ++byte) {
    const auto at = std::ranges::find(first_tokens, byte_alphabet()[byte]);
    check(at != first_tokens.end(), "byte {} has no token", byte);
    ids[byte] = static_cast<std::int32_t>(at - first_tokens.begin());
  }
  return ids;
}

TrainedBpe train_bpe(TokenWords& words, const BpeOptions& options, int threads,
                     const std::function<void(std::int64_t)>& progress) {
  return BpeTrainer(words, options, threads).run(progress);
}

}  // namespace triax
