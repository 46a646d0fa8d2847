#include "io/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
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

// Memory that the other processes of a node open: a file without a name, which is gone with the
// last process that has it, however that ends, and for which no mount sets a limit (/dev/shm has 64
// MiB in a container). Blocks come from the disk through a rank's own memory: pages of 4 KiB will
// do.
struct SharedFile {
  std::int64_t process = 0, descriptor = -1, device = 0, number = 0;

  std::array<std::int64_t, 4> words() const { return {process, descriptor, device, number}; }
  bool is(const struct stat& status) const {
    return static_cast<std::int64_t>(status.st_dev) == device &&
           static_cast<std::int64_t>(status.st_ino) == number;
  }
};

// Makes it with its room: without, the first store would end the process. -1, and errno, where
// there is none.
int create(std::size_t bytes, SharedFile& made) {
  const int file = ::memfd_create("triax-load", MFD_CLOEXEC);
  if (file < 0) return -1;
  struct stat status {};
  int error = ::fstat(file, &status) == 0 ? 0 : errno;
  if (error == 0) do
      error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    while (error == EINTR);
  if (error != 0) {
    ::close(file);
    errno = error;
    return -1;
  }
  made = {::getpid(), file, static_cast<std::int64_t>(status.st_dev),
          static_cast<std::int64_t>(status.st_ino)};
  return file;
}

// -1, and errno, where the system does not let this process have it. Processes that are numbered
// apart (in containers) have other files by that name: those are not opened.
int open_of(const SharedFile& made) {
  const std::string path = fmt::format("/proc/{}/fd/{}", made.process, made.descriptor);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return -1;
  if (made.is(status)) return ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  errno = ESRCH;
  return -1;
}

std::int64_t whole_pages(std::int64_t bytes) {
  constexpr std::int64_t page = BlockFile::alignment;
  return (bytes + page - 1) / page * page;
}

}  // namespace

NodeMemory::NodeMemory(const Ranks& ranks, const Need& need, int node) {
  const std::int64_t place = node == by_machine ? this_machine() : node;
  constexpr std::size_t words = 4;
  const std::vector<std::int64_t> all = gather_over_ranks(
      ranks, std::array<std::int64_t, words>{place, need.all, need.largest, need.window});
  std::vector<Member> members;
  for (std::size_t at = 0; at < all.size(); at += words)
    members.push_back({all[at], {all[at + 1], all[at + 2], all[at + 3]}});
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
  const bool alone = std::ranges::count(nodes_.node_of, node) == 1;
  shared_bytes_ =
      static_cast<std::size_t>(shared_parts * nodes_.room[static_cast<std::size_t>(node)]);
  const bool wanted = !alone && shared_bytes_ > 0;
  SharedFile made;
  int file = wanted && first == own ? create(shared_bytes_, made) : -1;
  std::int64_t error = wanted && first == own && file < 0 ? errno : 0;
  const auto words = made.words();
  const std::vector<std::int64_t> all = gather_over_ranks(ranks, words);
  const auto* const of_first = &all[first * words.size()];
  made = {of_first[0], of_first[1], of_first[2], of_first[3]};
  if (wanted && first != own && made.descriptor >= 0) {
    file = open_of(made);
    if (file < 0) error = errno;
  }
  if (file >= 0) {
    void* const memory =
        ::mmap(nullptr, shared_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
      error = errno;
    else
      shared_ = memory;
  }
  const std::vector<std::int64_t> errors = gather_over_ranks(ranks, std::array{error});
  if (file >= 0) ::close(file);  // now that all have opened it
  part(errors, members);
  if (members[own].node < 0 && shared_ != nullptr)
    ::munmap(std::exchange(shared_, nullptr), shared_bytes_);
}

// All ranks of a node where one has met an error are on their own.
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

NodeMemory::~NodeMemory() {
  if (shared_ != nullptr) ::munmap(shared_, shared_bytes_);
}

}  // namespace triax
