#include "io/load_round.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr int most_tags = 32768;  // that MPI promises

// A rank that gets a block in this round.
struct Need {
  std::int64_t block;
  int node, rank;
  auto key() const { return std::tuple(block, node, rank); }
};

/// The blocks that fit a node's memory, and where.
class NodeRoom {
 public:
  explicit NodeRoom(std::int64_t room) : room_(room) {}
  bool take(std::int64_t block, std::int64_t bytes) {
    if (offsets_.contains(block)) return true;
    if (used_ + bytes > room_) return false;
    offsets_[block] = used_;
    used_ += bytes;
    return true;
  }
  std::int64_t offset(std::int64_t block) const { return offsets_.at(block); }

 private:
  std::int64_t room_, used_ = 0;
  std::unordered_map<std::int64_t, std::int64_t> offsets_;
};

/// Shares out the blocks of a round. `offers`: of each rank.
class Sharing {
 public:
  using Offers = std::vector<std::span<const std::int64_t>>;
  Sharing(const Offers& offers, const LoadNodes& nodes, const LoadPlanner::BytesOf& bytes_of)
      : nodes_(nodes), bytes_of_(bytes_of), accepted_(offers.size()), load_(offers.size()) {
    for (const std::int64_t room : nodes.room) rooms_.emplace_back(room);
    accept(offers);
  }

  const std::vector<std::size_t>& accepted() const { return accepted_; }

  LoadRound of(std::span<const std::int64_t> offer, int rank) {
    LoadRound round;
    round.empty = needs_.empty();
    round.shared = std::ranges::adjacent_find(needs_, {}, &Need::block) != needs_.end();
    int tag = 0;
    for (std::size_t first = 0, end = 0; first < needs_.size(); first = end, ++tag) {
      while (end < needs_.size() && needs_[end].block == needs_[first].block) ++end;
      give(std::span(needs_).subspan(first, end - first), tag % most_tags, rank, round);
    }
    for (const std::int64_t block : offer.first(accepted_[static_cast<std::size_t>(rank)]))
      round.places.push_back(place(block, round, rank));
    return round;
  }

 private:
  std::size_t node(int rank) const {
    return static_cast<std::size_t>(nodes_.node_of[static_cast<std::size_t>(rank)]);
  }

  LoadPlace shared(std::int64_t block, int rank) const { return rooms_[node(rank)].offset(block); }
  LoadPlace place(std::int64_t block, const LoadRound& round, int rank) const {
    const auto duty = std::ranges::find(round.duties, block, &LoadDuty::block);
    return duty == round.duties.end() ? shared(block, rank) : duty->place;
  }

  // Block after block of every rank, as long as they fit.
  void accept(const Offers& offers) {
    bool more = true;
    for (std::size_t k = 0; std::exchange(more, false); ++k)
      for (int rank = 0; rank < std::ssize(offers); ++rank) {
        const auto& offer = offers[static_cast<std::size_t>(rank)];
        auto& accepted = accepted_[static_cast<std::size_t>(rank)];
        if (accepted < k || k >= offer.size() || offer[k] < 0) continue;
        if (!rooms_[node(rank)].take(offer[k], bytes_of_(offer[k]))) {
          check(k > 0, "no room for block {} in a round", offer[k]);
          continue;
        }
        ++accepted;
        more = true;
        needs_.push_back({offer[k], static_cast<int>(node(rank)), rank});
      }
    // A rank may come back to a block within a round.
    std::ranges::sort(needs_, {}, &Need::key);
    needs_.erase(std::ranges::unique(needs_, {}, &Need::key).begin(), needs_.end());
  }

  // All that need one block: on each node the one with the least to do brings it in.
  void give(std::span<const Need> needs, int tag, int rank, LoadRound& round) {
    std::vector<int> holders;
    bool others = false;  // of this rank's node need it too
    for (std::size_t first = 0, end = 0; first < needs.size(); first = end) {
      while (end < needs.size() && needs[end].node == needs[first].node) ++end;
      const auto here = needs.subspan(first, end - first);
      holders.push_back(std::ranges::min_element(here, {}, [&](const Need& need) {
                          return load(need.rank);
                        })->rank);
      if (holders.back() == rank) others = here.size() > 1;
    }
    const auto reader = std::ranges::min_element(holders, {}, [&](int r) { return load(r); });
    std::iter_swap(holders.begin(), reader);
    const std::int64_t block = needs.front().block;
    const std::int64_t bytes = bytes_of_(block);
    for (std::size_t i = 0; i < holders.size(); ++i) {
      load(holders[i]) += bytes;
      // What does not fit lands in shared memory, where it must not meet another round's.
      round.shared |= load(holders[i]) > nodes_.own[node(holders[i])];
      if (holders[i] != rank) continue;
      LoadDuty duty{block, shared(block, rank), false, i > 0 ? holders[i & (i - 1)] : -1, {}, tag};
      const bool fits = load(rank) <= nodes_.own[node(rank)];
      if (fits && !others) duty.place = own_memory;
      duty.lands_own = fits && (i == 0 || !others);
      for (std::size_t step = 1; i + step < holders.size() && (i & step) == 0; step *= 2)
        duty.to.push_back(holders[i + step]);
      std::ranges::reverse(duty.to);  // the largest subtree first
      round.duties.push_back(std::move(duty));
    }
  }

  std::int64_t& load(int rank) { return load_[static_cast<std::size_t>(rank)]; }

  const LoadNodes& nodes_;
  const LoadPlanner::BytesOf& bytes_of_;
  std::vector<NodeRoom> rooms_;
  std::vector<std::size_t> accepted_;
  std::vector<Need> needs_;
  std::vector<std::int64_t> load_;  // bytes that a rank brings in
};

}  // namespace

LoadPlanner::LoadPlanner(LoadNodes nodes, int rank, BytesOf bytes_of)
    : nodes_(std::move(nodes)),
      rank_(rank),
      bytes_of_(std::move(bytes_of)),
      taken_(nodes_.node_of.size()) {}

// An offer that ends with a block may be cut: the less is left of it, the less a round has.
bool LoadPlanner::wants_offers() const {
  if (offers_.empty()) return true;
  for (std::size_t r = 0; r < taken_.size(); ++r)
    if (offers_[(r + 1) * width_ - 1] >= 0 && taken_[r] > width_ / 2) return true;
  return false;
}

void LoadPlanner::offer(std::vector<std::int64_t> blocks, std::size_t width) {
  check(blocks.size() == width * taken_.size(), "offers of {} blocks", blocks.size());
  offers_ = std::move(blocks);
  width_ = width;
  std::ranges::fill(taken_, 0);
}

LoadRound LoadPlanner::next() {
  Sharing::Offers left;
  for (std::size_t r = 0; r < taken_.size(); ++r)
    left.push_back(std::span(offers_).subspan(r * width_ + taken_[r], width_ - taken_[r]));
  Sharing sharing(left, nodes_, bytes_of_);
  for (std::size_t r = 0; r < taken_.size(); ++r) taken_[r] += sharing.accepted()[r];
  return sharing.of(left[static_cast<std::size_t>(rank_)], rank_);
}

}  // namespace triax
