#include "src/comm/progress_board.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/comm/mpi_error.hpp"
#include "src/comm/wait.hpp"

namespace triax {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

template <std::size_t N>
void set_text(std::array<char, N>& to, const std::string& text) {
  to.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to.begin());
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& text) {
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

std::uint64_t head(const ProgressBoard::Message& message, bool finished) {
  return std::uint64_t{message.number} << 32 | static_cast<std::uint64_t>(message.kind) << 1 |
         static_cast<std::uint64_t>(finished);
}

// The same on all ranks of a node.
std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

void name_process(ProgressSlot& slot) {
  const ProcessName process = this_process();
  slot.process = process.number;
  slot.born = process.born;
}

// The slots of a node's ranks, once each has made its own.
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

ProcessState process_of(const ProgressSlot& slot) {
  return state_of({slot.process, slot.born});
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
  slot.waits = waits();  // those under way go on
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
  // Only this thread adds groups.
  const std::vector<int>& members = members_[static_cast<std::size_t>(group)];
  return {group, 0, kind, bytes, members[static_cast<std::size_t>(peer)], tag};
}

// Of collectives that end in another order than they began, a newer one may have the place.
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

// The count stays odd until the outermost wait ends; a wait that goes on in it is another one.
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
  // The slot may be from a file, which may hold anything.
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
