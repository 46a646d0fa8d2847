// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/load_round.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr int most_tags = 32768;     // MPI guarantees tags up to 32767
constexpr std::int64_t none = -1;    // no chunk
constexpr std::size_t horizon = 16;  // chunks of an offer that are checked for keeping

// A rank that gets a chunk in this round.
struct Need {
  std::int64_t block;
  int node, rank;
  auto key() const { return std::tuple(block, node, rank); }
};

/// A node's chunks of a round: which rank brings each in (its carrier), and its offset in the
/// shared buffer, if any.
class NodeRoom {
 public:
  struct Held {
    int carrier;
    std::optional<std::int64_t> shared;
  };
  explicit NodeRoom(std::int64_t room) : room_(room) {}
  bool has(std::int64_t block) const { return held_.contains(block); }
  const Held& held(std::int64_t block) const { return held_.at(block); }
  void take(std::int64_t block, int carrier) { held_[block] = {.carrier = carrier, .shared = {}}; }
  bool fits(std::int64_t bytes) const { return used_ + bytes <= room_; }
  // Puts the chunk into the shared buffer; false where it does not fit.
  bool share(std::int64_t block, std::int64_t bytes) {
    Held& held = held_.at(block);
    if (held.shared) return true;
    if (!fits(bytes)) return false;
    held.shared = std::exchange(used_, used_ + bytes);
    return true;
  }

 private:
  std::int64_t room_, used_ = 0;
  std::unordered_map<std::int64_t, Held> held_;
};

/// Plans one round from the ranks' offers.
class Sharing {
 public:
  using Offers = std::vector<std::span<const std::int64_t>>;
  /// `kept`: chunk that each rank has kept from earlier rounds, or none. `read`: bytes that each
  /// rank has read.
  Sharing(const Offers& offers, const LoadNodes& nodes,
          const std::vector<std::vector<int>>& ranks_on, const LoadPlanner::BytesOf& bytes_of,
          const std::vector<std::int64_t>& kept, std::vector<std::int64_t> read)
      : nodes_(nodes),
        ranks_on_(ranks_on),
        bytes_of_(bytes_of),
        had_(kept),
        kept_(kept),
        accepted_(offers.size()),
        carried_(offers.size()),
        read_(std::move(read)) {
    for (const std::int64_t room : nodes.room) rooms_.emplace_back(room);
    accept(offers);
    keep(offers);
    // A rank may need a chunk twice within a round.
    std::ranges::sort(needs_, {}, &Need::key);
    const auto same = [](const Need& a, const Need& b) { return a.key() == b.key(); };
    needs_.erase(std::unique(needs_.begin(), needs_.end(), same), needs_.end());
  }

  const std::vector<std::size_t>& accepted() const { return accepted_; }
  /// State after this round.
  const std::vector<std::int64_t>& kept() const { return kept_; }
  const std::vector<std::int64_t>& read() const { return read_; }

  LoadRound of(std::span<const std::int64_t> offer, int rank) {
    LoadRound round;
    round.empty = std::ranges::all_of(accepted_, [](std::size_t blocks) { return blocks == 0; });
    round.shared = std::ranges::adjacent_find(needs_, {}, &Need::block) != needs_.end();
    int tag = 0;
    for (std::size_t first = 0, end = 0; first < needs_.size(); first = end) {
      while (end < needs_.size() && needs_[end].block == needs_[first].block) ++end;
      const bool travels = needs_[end - 1].node != needs_[first].node;
      give(std::span(needs_).subspan(first, end - first), tag % most_tags, rank, round);
      tag += travels ? 1 : 0;
    }
    const auto r = static_cast<std::size_t>(rank);
    for (const std::int64_t block : offer.first(accepted_[r]))
      round.places.push_back(place(block, rank, round.duties));
    if (const std::int64_t block = kept_[r]; block != none && had_[r] == none)
      round.keep = {block, place(block, rank, round.duties)};
    return round;
  }

 private:
  std::size_t node(int rank) const {
    return static_cast<std::size_t>(nodes_.node_of[static_cast<std::size_t>(rank)]);
  }

  // `duties`: the rank's own, sorted by chunk.
  LoadPlace place(std::int64_t block, int rank, const std::vector<LoadDuty>& duties) const {
    using enum LoadPlace::Kind;
    if (block == had_[static_cast<std::size_t>(rank)]) return {kept, 0};
    if (const auto at = rooms_[node(rank)].held(block).shared) return {shared, *at};
    return {own, std::ranges::lower_bound(duties, block, {}, &LoadDuty::block) - duties.begin()};
  }

  // Accepts the k-th chunk of every rank, for k = 0, 1, ..., as long as they fit.
  void accept(const Offers& offers) {
    bool more = true;
    for (std::size_t k = 0; std::exchange(more, false); ++k)
      for (int rank = 0; rank < std::ssize(offers); ++rank) {
        if (!offers_at(offers, rank, k)) continue;
        const auto r = static_cast<std::size_t>(rank);
        const std::int64_t block = offers[r][k];
        if (block == had_[r]) {
          kept_[r] = none;
          ++accepted_[r];
          more = true;
          continue;
        }
        if (!take(block, rank, offers, k)) {
          check(k > 0, "no room for block {} in a round", block);
          continue;
        }
        ++accepted_[r];
        more = true;
        needs_.push_back({block, static_cast<int>(node(rank)), rank});
      }
  }

  // Lets each rank without a kept chunk keep one of this round that it needs again soon.
  void keep(const Offers& offers) {
    for (int rank = 0; rank < std::ssize(offers); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      NodeRoom& room = rooms_[node(rank)];
      if (had_[r] != none) continue;
      const auto soon = offers[r].subspan(accepted_[r]);
      for (const std::int64_t block : soon.first(std::min(horizon, soon.size()))) {
        if (!room.has(block)) continue;
        if (room.held(block).carrier == rank || room.share(block, bytes_of_(block))) {
          kept_[r] = block;
          needs_.push_back({block, static_cast<int>(node(rank)), rank});
        }
        break;
      }
    }
  }

  // Whether all earlier chunks of the rank are accepted and it offers a k-th one.
  bool offers_at(const Offers& offers, int rank, std::size_t k) const {
    const auto& offer = offers[static_cast<std::size_t>(rank)];
    return accepted_[static_cast<std::size_t>(rank)] >= k && k < offer.size() && offer[k] >= 0;
  }

  // Whether the rank's k-th chunk is this one, and not kept already.
  bool wants_at(const Offers& offers, int rank, std::size_t k, std::int64_t block) const {
    const auto r = static_cast<std::size_t>(rank);
    return offers_at(offers, rank, k) && offers[r][k] == block && had_[r] != block;
  }

  // Accepts a chunk for a rank. It comes in through the memory of the rank with the fewest bytes so
  // far, among those of the node that want it at the same time.
  bool take(std::int64_t block, int rank, const Offers& offers, std::size_t k) {
    NodeRoom& room = rooms_[node(rank)];
    if (room.has(block))
      return room.held(block).carrier == rank || room.share(block, bytes_of_(block));
    const std::int64_t bytes = bytes_of_(block);
    int carrier = rank;
    bool shared = false;
    for (const int other : ranks_on_[node(rank)]) {
      if (other == rank || !wants_at(offers, other, k, block)) continue;
      if (other < rank) return false;  // refused before: they share it in a later round
      shared = true;
      if (carried(other) < carried(carrier)) carrier = other;
    }
    if (carried(carrier) + bytes > nodes_.own[node(rank)] || (shared && !room.fits(bytes)))
      return false;
    room.take(block, carrier);
    carried(carrier) += bytes;
    return !shared || room.share(block, bytes);
  }

  // Plans the duties for one chunk, given all ranks that need it. Each node's carrier brings it in;
  // the carrier that has read least reads it from disk.
  void give(std::span<const Need> needs, int tag, int rank, LoadRound& round) {
    const std::int64_t block = needs.front().block;
    std::vector<int> holders;
    bool others = false;  // other ranks of this node need it too
    for (std::size_t first = 0, end = 0; first < needs.size(); first = end) {
      while (end < needs.size() && needs[end].node == needs[first].node) ++end;
      const auto here = needs.subspan(first, end - first);
      holders.push_back(rooms_[static_cast<std::size_t>(needs[first].node)].held(block).carrier);
      check(std::ranges::find(here, holders.back(), &Need::rank) != here.end(),
            "block {} comes in by a rank that does not need it", block);
      if (holders.back() == rank) others = here.size() > 1;
    }
    const auto reader = std::ranges::min_element(holders, {}, [&](int r) { return read(r); });
    read(*reader) += bytes_of_(block);
    std::iter_swap(holders.begin(), reader);
    const auto mine = std::ranges::find(holders, rank);
    if (mine == holders.end()) return;
    const auto i = static_cast<std::size_t>(mine - holders.begin());
    LoadDuty duty{.block = block,
                  .place = place(block, rank, round.duties),  // index: behind the duties so far
                  .lands_own = i == 0 || !others,
                  .from = i > 0 ? holders[i & (i - 1)] : -1,
                  .to = {},
                  .tag = tag};
    for (std::size_t step = 1; i + step < holders.size() && (i & step) == 0; step *= 2)
      duty.to.push_back(holders[i + step]);
    std::ranges::reverse(duty.to);  // the largest subtree first
    round.duties.push_back(std::move(duty));
  }

  std::int64_t& carried(int rank) { return carried_[static_cast<std::size_t>(rank)]; }
  std::int64_t& read(int rank) { return read_[static_cast<std::size_t>(rank)]; }

  const LoadNodes& nodes_;
  const std::vector<std::vector<int>>& ranks_on_;  // each node
  const LoadPlanner::BytesOf& bytes_of_;
  const std::vector<std::int64_t>& had_;  // chunk kept by each rank before the round
  std::vector<std::int64_t> kept_;        // and after the round
  std::vector<NodeRoom> rooms_;           // by node
  std::vector<std::size_t> accepted_;
  std::vector<Need> needs_;
  std::vector<std::int64_t> carried_;  // bytes of chunks that each rank brings in
  std::vector<std::int64_t> read_;     // bytes that each rank reads from disk
};

}  // namespace

LoadPlanner::LoadPlanner(LoadNodes nodes, int rank, BytesOf bytes_of)
    : nodes_(std::move(nodes)),
      ranks_on_(nodes_.room.size()),
      rank_(rank),
      bytes_of_(std::move(bytes_of)),
      taken_(nodes_.node_of.size()),
      kept_(nodes_.node_of.size(), none),
      read_(nodes_.node_of.size()) {
  for (std::size_t r = 0; r < taken_.size(); ++r)
    ranks_on_[static_cast<std::size_t>(nodes_.node_of[r])].push_back(static_cast<int>(r));
}

// An offer without -1 at its end may be incomplete. It is renewed when half of it is accepted, as a
// short rest makes small rounds.
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
  Sharing sharing(left, nodes_, ranks_on_, bytes_of_, kept_, read_);
  for (std::size_t r = 0; r < taken_.size(); ++r) taken_[r] += sharing.accepted()[r];
  LoadRound round = sharing.of(left[static_cast<std::size_t>(rank_)], rank_);
  kept_ = sharing.kept();
  read_ = sharing.read();
  return round;
}

}  // namespace triax
