// SPDX-License-Identifier: Apache-2.0
// Reading side of ProgressBoard: slots of this node, and images of other nodes' slots.
#include <algorithm>
#include <cstring>

#include "src/comm/watchdog/progress_board.hpp"

namespace triax {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

template <std::size_t N>
std::string text_of(const std::array<char, N>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

ProcessState process_of(const ProgressSlot& slot) {
  return state_of({slot.process, slot.born});
}

}  // namespace

RankProgress ProgressBoard::read(const ProgressSlot& slot, ProcessState process) {
  RankProgress progress;
  progress.rank = slot.rank;
  progress.place = text_of(slot.place);
  progress.process = process;
  progress.process_number = slot.process;
  progress.activity = slot.activity.load(relaxed);
  progress.position = slot.position.load(relaxed);
  progress.step = slot.step.load(relaxed);
  progress.file_work = slot.file_work.load(relaxed) > 0;
  // The slot may come from a file, with any content.
  const int groups = std::clamp(slot.groups_made.load(std::memory_order_acquire), 0,
                                static_cast<int>(ProgressSlot::most_groups));
  for (int g = 0; g < groups; ++g) {
    const GroupSlot& group = slot.groups[static_cast<std::size_t>(g)];
    for (const auto& operation : group.operations) {
      const std::uint64_t is = operation.head.load(relaxed);
      if (is != 0)
        progress.collectives.push_back({text_of(group.name), static_cast<std::uint32_t>(is >> 32),
                                        static_cast<CallKind>(is >> 1 & 0x7f),
                                        operation.bytes.load(relaxed), -1, 0, (is & 1) != 0});
    }
  }
  if (slot.waits.load(std::memory_order_acquire) % 2 == 0) return progress;
  const int g = slot.group.load(relaxed);
  progress.waits_for = MessageSeen{
      g >= 0 && g < groups ? text_of(slot.groups[static_cast<std::size_t>(g)].name) : "start-up",
      slot.number.load(relaxed),
      slot.kind.load(relaxed),
      slot.bytes.load(relaxed),
      slot.peer.load(relaxed),
      slot.tag.load(relaxed)};
  return progress;
}

std::string ProgressBoard::report(double seconds, const std::vector<RankProgress>& elsewhere,
                                  const std::string& problem) const {
  const std::lock_guard lock(mutex_);
  Stall stall;
  stall.problem = problem;
  stall.seconds = seconds;
  stall.waiter = read(own(), ProcessState::running);
  if (!stall.waiter.waits_for) return "";
  const int group = own().group.load(relaxed);
  if (group >= 0 && group < std::ssize(members_))
    stall.members = members_[static_cast<std::size_t>(group)];
  stall.seen = seen_locked(elsewhere);
  return stall_report(stall, explain_);
}

std::vector<RankProgress> ProgressBoard::seen_locked(
    const std::vector<RankProgress>& elsewhere) const {
  std::vector<RankProgress> all;
  for (const ProgressSlot* slot : node_) all.push_back(read(*slot, process_of(*slot)));
  all.insert(all.end(), elsewhere.begin(), elsewhere.end());
  return all;
}

std::vector<RankProgress> ProgressBoard::seen(const std::vector<RankProgress>& elsewhere) const {
  const std::lock_guard lock(mutex_);
  return seen_locked(elsewhere);
}

bool ProgressBoard::has_other_nodes() const {
  const std::lock_guard lock(mutex_);
  return !members_.empty() && members_.front().size() > node_.size();
}

std::vector<ProcessName> ProgressBoard::processes_of_node() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProcessName> processes;
  for (const ProgressSlot* slot : node_) processes.push_back({slot->process, slot->born});
  return processes;
}

std::string ProgressBoard::node_image() const {
  const std::lock_guard lock(mutex_);
  std::string image;
  for (const ProgressSlot* slot : node_) {
    image += static_cast<char>(process_of(*slot));
    image.append(reinterpret_cast<const char*>(slot), sizeof *slot);
  }
  return image;
}

std::vector<RankProgress> ProgressBoard::read_image(const std::string& image) {
  constexpr std::size_t bytes = 1 + sizeof(ProgressSlot);
  std::vector<RankProgress> ranks;
  if (image.size() % bytes != 0) return ranks;
  const auto slot = std::make_unique<ProgressSlot>();
  for (std::size_t at = 0; at < image.size(); at += bytes) {
    std::memcpy(static_cast<void*>(slot.get()), image.data() + at + 1, sizeof *slot);
    ranks.push_back(read(*slot, static_cast<ProcessState>(image[at])));
  }
  return ranks;
}

int ProgressBoard::first_rank_of_node() const {
  const std::lock_guard lock(mutex_);
  return node_.front()->rank;
}

bool ProgressBoard::speaks_for_node() const {
  const std::lock_guard lock(mutex_);
  const auto runs = [](const ProgressSlot* slot) {
    return process_of(*slot) == ProcessState::running;
  };
  const auto first = std::ranges::find_if(node_, runs);
  return first != node_.end() && *first == own_;
}

bool ProgressBoard::has_all(const std::vector<RankProgress>& elsewhere) const {
  const std::lock_guard lock(mutex_);
  return members_.empty() || node_.size() + elsewhere.size() >= members_.front().size();
}

}  // namespace triax
