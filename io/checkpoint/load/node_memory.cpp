// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/node_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "io/direct/block_file.hpp"
#include "io/files/checksum.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Number of a SharedMemory::Home, >= 0.
std::int64_t number_of(const SharedMemory::Home& home) {
  const std::string_view bytes(reinterpret_cast<const char*>(home.data()), sizeof home);
  return static_cast<std::int64_t>(checksum_of(bytes) >> 1);
}

// Number of a machine. Ranks in separate containers on it share no memory, but its disk.
std::int64_t machine_of(const SharedMemory::Home& home) {
  return home[0];
}

std::int64_t whole_pages(std::int64_t bytes) {
  constexpr std::int64_t page = BlockFile::alignment;
  return (bytes + page - 1) / page * page;
}

}  // namespace

NodeMemory::NodeMemory(const Ranks& ranks, const Need& need, int node, std::span<std::byte> lent) {
  const SharedMemory::Home home = SharedMemory::home();
  const bool told = node != by_machine;
  constexpr std::size_t words = 5;
  const std::vector<std::int64_t> all = gather_over_ranks(
      ranks,
      std::array<std::int64_t, words>{told ? node : number_of(home), told ? node : machine_of(home),
                                      need.all, need.largest, need.window});
  std::vector<Member> members;
  std::map<std::int64_t, int> on_machine;
  int most = 1;
  for (std::size_t at = 0; at < all.size(); at += words) {
    members.push_back({all[at], {all[at + 2], all[at + 3], all[at + 4]}});
    most = std::max(most, ++on_machine[all[at + 1]]);
  }
  number(members);
  parts_ = 1 + parts_ahead(most);
  const auto own = static_cast<std::size_t>(ranks.rank);
  if (ranks.size > 1) share(ranks, members);
  const auto here = static_cast<std::size_t>(nodes_.node_of[own]);
  room_ = nodes_.room[here];
  own_room_ = nodes_.own[here];
  sharing_ = std::ranges::count(nodes_.node_of, nodes_.node_of[own]);
  const auto bytes = static_cast<std::size_t>(parts_ * own_room_ + whole_pages(need.largest));
  void* begin = lent.data();
  std::size_t room = lent.size();
  if (std::align(BlockFile::alignment, bytes, begin, room) == nullptr) begin = nullptr;
  agreed(ranks, [&] {
    // Pages come on first use: the disk fills the first buffer before the others have any.
    if (begin == nullptr) taken_ = Buffer::unwritten(bytes);
  });
  own_ = static_cast<std::byte*>(begin != nullptr ? begin : taken_.data());
}

std::int64_t NodeMemory::bytes() const {
  const auto own = static_cast<std::int64_t>(taken_.bytes());
  if (shared_.data() == nullptr) return own;
  return own + shared_parts * room_ / sharing_;
}

// Computes nodes_: own memory for the largest chunk of a rank, shared memory for one chunk per two
// ranks, neither more than needed, in whole pages.
void NodeMemory::number(const std::vector<Member>& members) {
  std::map<std::int64_t, int> numbers;
  nodes_ = {};
  struct Node {
    Need largest;
    std::int64_t all = 0, ranks = 0;
  };
  std::vector<Node> nodes;
  for (const Member& member : members) {
    const auto [found, is_new] =
        numbers.try_emplace(member.node, static_cast<int>(std::ssize(nodes)));
    if (is_new) nodes.emplace_back();
    nodes_.node_of.push_back(found->second);
    Node& node = nodes[static_cast<std::size_t>(found->second)];
    Need& largest = node.largest;
    largest.all = std::max(largest.all, member.need.all);
    largest.largest = std::max(largest.largest, member.need.largest);
    largest.window = std::max(largest.window, member.need.window);
    node.all += member.need.all;
    ++node.ranks;
  }
  for (const auto& [need, all, ranks] : nodes) {
    const std::int64_t pairs = (ranks + 1) / 2;
    const std::int64_t shared = std::min(std::max(need.window, pairs * need.largest), all);
    nodes_.room.push_back(ranks == 1 ? 0 : whole_pages(shared));
    const std::int64_t own = std::min(need.window / std::max<std::int64_t>(ranks, 4), need.all);
    nodes_.own.push_back(whole_pages(std::max(need.largest, own)));
  }
}

void NodeMemory::share(const Ranks& ranks, std::vector<Member>& members) {
  const auto own = static_cast<std::size_t>(ranks.rank);
  const int node = nodes_.node_of[own];
  const auto first =
      static_cast<std::size_t>(std::ranges::find(nodes_.node_of, node) - nodes_.node_of.begin());
  const bool alone = std::ranges::count(nodes_.node_of, node) == 1;
  const auto bytes =
      static_cast<std::size_t>(shared_parts * nodes_.room[static_cast<std::size_t>(node)]);
  const bool wanted = !alone && bytes > 0;
  // Pages of 4 KiB suffice: the disk fills own memory, not this.
  if (wanted && first == own) shared_ = SharedMemory::make("triax-load", bytes);
  constexpr std::size_t words = std::tuple_size_v<SharedMemory::Name>;
  const std::vector<std::int64_t> all = gather_over_ranks(ranks, shared_.name());
  SharedMemory::Name made;
  std::copy_n(&all[first * words], words, made.begin());
  if (wanted && first != own && made != SharedMemory::Name{})
    shared_ = SharedMemory::open(made, bytes);
  const std::vector<std::int64_t> errors =
      gather_over_ranks(ranks, std::array{static_cast<std::int64_t>(shared_.error())});
  shared_.close_to_others();  // all ranks have opened it
  part(errors, members);
  if (members[own].node < 0) shared_ = {};
}

// Makes each rank of a node where one failed a node of its own.
void NodeMemory::part(const std::vector<std::int64_t>& errors, std::vector<Member>& members) {
  std::vector<bool> lost(nodes_.room.size());
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (errors[r] == 0) continue;
    lost[static_cast<std::size_t>(nodes_.node_of[r])] = true;
    if (refusal_.empty())
      refusal_ = fmt::format("rank {}: {}", r, std::strerror(static_cast<int>(errors[r])));
  }
  for (std::size_t r = 0; r < members.size(); ++r)
    if (lost[static_cast<std::size_t>(nodes_.node_of[r])])
      members[r].node = -1 - static_cast<std::int64_t>(r);
  number(members);
}

int ranks_on_machine(const Ranks& ranks) {
  const std::int64_t own = machine_of(SharedMemory::home());
  const std::vector<std::int64_t> all = gather_over_ranks(ranks, std::array{own});
  return static_cast<int>(std::ranges::count(all, own));
}

}  // namespace triax
