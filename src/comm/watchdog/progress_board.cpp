// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/progress_board.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/mpi/wait.hpp"

namespace triax {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

template <std::size_t N>
void set_text(std::array<char, N>& to, const std::string& text) {
  to.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to.begin());
}

std::uint64_t head(const ProgressBoard::Message& message, bool finished) {
  return std::uint64_t{message.number} << 32 | static_cast<std::uint64_t>(message.kind) << 1 |
         static_cast<std::uint64_t>(finished);
}

// The steady clock is the same for all processes of a node.
std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void name_process(ProgressSlot& slot) {
  const ProcessName process = this_process();
  slot.process = process.number;
  slot.born = process.born;
}

// The slots of a node's ranks, after each rank has constructed its own.
std::vector<ProgressSlot*> made_in(const SharedSlots& shared, MPI_Comm node, int node_rank,
                                   const std::string& place) {
  new (shared.slot(node_rank)) ProgressSlot;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(node, &request), "MPI_Ibarrier", place);
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Ibarrier", place);
  std::vector<ProgressSlot*> slots;
  for (int r = 0; r < shared.size(); ++r)
    slots.push_back(std::launder(reinterpret_cast<ProgressSlot*>(shared.slot(r))));
  return slots;
}

}  // namespace

ProgressBoard::ProgressBoard()
    : alone_(std::make_unique<ProgressSlot>()), node_{alone_.get()}, own_(alone_.get()) {
  constexpr std::size_t usual_depth = 8;
  awaited_.reserve(usual_depth);
  name_process(*alone_);
  set_text(alone_->place, "a rank");
}

void ProgressBoard::share(MPI_Comm node, int rank, int ranks, const std::string& place) {
  int size = 1;
  int node_rank = 0;
  check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size", place);
  check_mpi(MPI_Comm_rank(node, &node_rank), "MPI_Comm_rank", place);
  std::vector<ProgressSlot*> slots = node_;
  if (size > 1) shared_ = SharedSlots(node, "triax-progress", sizeof(ProgressSlot), place);
  if (!shared_.empty()) slots = made_in(shared_, node, node_rank, place);
  ProgressSlot& slot = *slots[shared_.empty() ? 0U : static_cast<std::size_t>(node_rank)];
  slot.rank = rank;
  name_process(slot);
  set_text(slot.place, place);
  slot.waits = waits();  // waits under way continue
  {
    const std::lock_guard lock(mutex_);
    node_ = std::move(slots);
    own_ = &slot;
    if (!awaited_.empty()) show(awaited_.back());
  }
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) all[static_cast<std::size_t>(r)] = r;
  add_group("outside of training", std::move(all));
}

int ProgressBoard::add_group(const std::string& name, std::vector<int> members) {
  ProgressSlot& slot = own();
  const int index = slot.groups_made.load(relaxed);
  check(index < static_cast<int>(slot.groups.size()), "more than {} groups of ranks", index);
  set_text(slot.groups[static_cast<std::size_t>(index)].name, name);
  started_.push_back(0);
  const std::lock_guard lock(mutex_);
  members_.push_back(std::move(members));
  slot.groups_made.store(index + 1, std::memory_order_release);
  return index;
}

ProgressBoard::Message ProgressBoard::start(int group, CallKind kind, std::uint64_t bytes) {
  const auto index = static_cast<std::size_t>(group);
  const Message message{group, ++started_[index], kind, bytes};
  auto& operation = own().groups[index].operations[message.number % GroupSlot::recent];
  store(operation.bytes, bytes);
  store(operation.head, head(message, false));
  return message;
}

ProgressBoard::Message ProgressBoard::peer_message(int group, CallKind kind, std::uint64_t bytes,
                                                   int peer, int tag) const {
  // members_ is read without the lock: only this thread adds groups.
  const std::vector<int>& members = members_[static_cast<std::size_t>(group)];
  return {group, 0, kind, bytes, members[static_cast<std::size_t>(peer)], tag};
}

// Collectives may end in another order than they began, so a newer one may already use the slot.
void ProgressBoard::finish(const Message& message) {
  if (message.number == 0) return;
  auto& operation = own()
                        .groups[static_cast<std::size_t>(message.group)]
                        .operations[message.number % GroupSlot::recent];
  if (operation.head.load(relaxed) >> 32 == message.number)
    store(operation.head, head(message, true));
}

void ProgressBoard::show(const Message& message) {
  ProgressSlot& slot = own();
  store(slot.group, message.group);
  store(slot.number, message.number);
  store(slot.kind, message.kind);
  store(slot.bytes, message.bytes);
  store(slot.peer, message.peer);
  store(slot.tag, message.tag);
}

// The count stays odd until the outermost wait ends. What remains of an outer wait after an inner
// one counts as a new wait.
void ProgressBoard::begin_wait(const Message& message) {
  show(message);
  count_waits(awaited_.empty() ? 1 : 2);
  awaited_.push_back(message);
}

void ProgressBoard::end_wait() {
  awaited_.pop_back();
  if (!awaited_.empty()) show(awaited_.back());
  count_waits(awaited_.empty() ? 1 : 2);
}

void ProgressBoard::begins() {
  begin_wait(started_.empty() ? Message{} : start(0, CallKind::meeting, 0));
}

void ProgressBoard::ends() {
  const Message meeting = awaited_.back();
  end_wait();
  finish(meeting);
}

void ProgressBoard::explain_with(ExplainProgress explain) {
  const std::lock_guard lock(mutex_);
  explain_ = std::move(explain);
}

bool ProgressBoard::take_report() {
  const std::lock_guard lock(mutex_);
  return !node_.front()->reported.exchange(true);
}

void ProgressBoard::give_report_back() {
  const std::lock_guard lock(mutex_);
  node_.front()->reported = false;
}

void ProgressBoard::postpone(double seconds) {
  const std::lock_guard lock(mutex_);
  store(node_.front()->postponed_to, now_ms() + static_cast<std::int64_t>(1e3 * seconds));
}

double ProgressBoard::postponed_for() const {
  const std::lock_guard lock(mutex_);
  const std::int64_t left = node_.front()->postponed_to.load(relaxed) - now_ms();
  return 1e-3 * static_cast<double>(std::max<std::int64_t>(left, 0));
}

}  // namespace triax
