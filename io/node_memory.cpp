#include "io/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "io/block_file.hpp"
#include "io/checksum.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

// The same on ranks of one machine (or container) alone.
std::int64_t this_machine() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return static_cast<std::int64_t>(checksum_of(host.data() + boot) >> 1);
}

std::string name_of(std::int64_t number) {
  return fmt::format("/triax-load-{:x}", number);
}

// Makes it with its room: without, the first store would end the process. -1: there is none.
int create(const std::string& name, std::size_t bytes) {
  const int file = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0 || ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0) return file;
  ::close(file);
  ::shm_unlink(name.c_str());
  return -1;
}

std::int64_t whole_pages(std::int64_t bytes) {
  constexpr std::int64_t page = BlockFile::alignment;
  return (bytes + page - 1) / page * page;
}

}  // namespace

NodeMemory::NodeMemory(const Ranks& ranks, const Need& need, int node) {
  const std::int64_t place = node == by_machine ? this_machine() : node;
  const auto name = static_cast<std::int64_t>((std::uint64_t{std::random_device()()} << 31) ^
                                              static_cast<std::uint64_t>(::getpid()));
  constexpr std::size_t words = 5;
  const std::vector<std::int64_t> all = gather_over_ranks(
      ranks, std::array<std::int64_t, words>{place, name, need.all, need.largest, need.window});
  std::vector<Member> members;
  for (std::size_t at = 0; at < all.size(); at += words)
    members.push_back({all[at], all[at + 1], {all[at + 2], all[at + 3], all[at + 4]}});
  number(members);
  const auto own = static_cast<std::size_t>(ranks.rank);
  if (ranks.size > 1) share(ranks, members);
  const auto here = static_cast<std::size_t>(nodes_.node_of[own]);
  room_ = nodes_.room[here];
  own_room_ = nodes_.own[here];
  try {
    agreed(ranks, [&] {
      own_ = Buffer(static_cast<std::size_t>(parts * own_room_ + whole_pages(need.largest)));
    });
  } catch (...) {
    if (shared_ != nullptr) ::munmap(shared_, shared_bytes_);
    throw;
  }
}

// For the largest block of each rank, and no more than is needed, in whole pages.
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
    const std::int64_t shared = std::min(std::max(need.window, ranks * need.largest), all);
    nodes_.room.push_back(ranks == 1 ? 0 : whole_pages(shared));
    const std::int64_t own = std::min(need.window / std::max<std::int64_t>(ranks, 2), need.all);
    nodes_.own.push_back(whole_pages(std::max(need.largest, own)));
  }
}

void NodeMemory::share(const Ranks& ranks, std::vector<Member>& members) {
  const auto own = static_cast<std::size_t>(ranks.rank);
  const int node = nodes_.node_of[own];
  const auto first =
      static_cast<std::size_t>(std::ranges::find(nodes_.node_of, node) - nodes_.node_of.begin());
  const std::string name = name_of(members[first].name);
  const bool alone = std::ranges::count(nodes_.node_of, node) == 1;
  shared_bytes_ =
      static_cast<std::size_t>(shared_parts * nodes_.room[static_cast<std::size_t>(node)]);
  const bool wanted = !alone && shared_bytes_ > 0;
  int file = wanted && first == own ? create(name, shared_bytes_) : -1;
  agree(ranks, {});  // it is made
  if (wanted && first != own) file = ::shm_open(name.c_str(), O_RDWR, 0600);
  if (file >= 0) {
    shared_ = ::mmap(nullptr, shared_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared_ == MAP_FAILED) shared_ = nullptr;
    ::close(file);
  }
  const std::int64_t missing = wanted && shared_ == nullptr ? 1 : 0;
  const std::vector<std::int64_t> miss = gather_over_ranks(ranks, std::array{missing});
  if (wanted && first == own) ::shm_unlink(name.c_str());
  // All ranks of a node where one has none are on their own.
  std::vector<bool> lost(nodes_.room.size());
  for (std::size_t r = 0; r < members.size(); ++r)
    if (miss[r] != 0) lost[static_cast<std::size_t>(nodes_.node_of[r])] = true;
  if (lost[static_cast<std::size_t>(node)] && shared_ != nullptr)
    ::munmap(std::exchange(shared_, nullptr), shared_bytes_);
  for (std::size_t r = 0; r < members.size(); ++r)
    if (lost[static_cast<std::size_t>(nodes_.node_of[r])])
      members[r].node = -1 - static_cast<std::int64_t>(r);
  number(members);
}

NodeMemory::~NodeMemory() {
  if (shared_ != nullptr) ::munmap(shared_, shared_bytes_);
}

}  // namespace triax
