#pragma once
// What the ranks of a node do, each in its own slot of memory that all of them read. Writing costs
// a few plain stores a message; reading needs no message, and works when the others are stopped or
// dead.
#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/base/wait.hpp"
#include "src/comm/mpi/shared_slots.hpp"
#include "src/comm/watchdog/progress_slot.hpp"
#include "src/comm/watchdog/stall_report.hpp"

namespace triax {

class ProgressBoard final : public WaitWatch {
 public:
  /// A message of this rank.
  struct Message {
    int group = -1;            // of add_group
    std::uint32_t number = 0;  // of the group's collectives; 0: point to point
    CallKind kind = CallKind::meeting;
    std::uint64_t bytes = 0;
    int peer = -1, tag = 0;  // point to point: rank in the grid
  };

  /// A board of this rank alone, until share().
  ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  /// Collective over `node`, the ranks of a node. `rank` of `ranks`: in the grid; `place` names it.
  /// Groups are added afterwards. Where the system lets the ranks share no memory, each has a board
  /// of its own, as if it had its node for itself.
  void share(MPI_Comm node, int rank, int ranks, const std::string& place);
  /// `members`: ranks of the grid, by rank of the group. `name` is the same on all of them.
  int add_group(const std::string& name, std::vector<int> members);

  // For the thread that sends messages.
  /// A collective begins.
  Message start(int group, CallKind kind, std::uint64_t bytes);
  /// To or from `peer`, a rank of the group.
  Message peer_message(int group, CallKind kind, std::uint64_t bytes, int peer, int tag) const;
  void finish(const Message& message);
  /// From begin_wait to end_wait the rank waits for a message. A wait may be within another: what
  /// is shown is the innermost, and the one around it again when it has ended.
  void begin_wait(const Message& message);
  void end_wait();
  /// What begin_wait takes of a rank that waits for its own GPU: no message, and of no group.
  static Message of_device() { return {-1, 0, CallKind::device, 0}; }
  /// A wait for all ranks of the grid, outside of training.
  void begins() override;
  void ends() override;
  void file_work_begins() override { store(own().file_work, own().file_work.load() + 1); }
  void file_work_ends() override { store(own().file_work, own().file_work.load() - 1); }
  /// Where it is in its work; see explain_with.
  void set_activity(int activity) { store(own().activity, activity); }
  void set_step(std::int64_t step) { store(own().step, step); }
  void set_position(int position) { store(own().position, position); }

  // For any thread.
  /// How activity, step and position read; called by the thread that reports.
  void explain_with(ExplainProgress explain);
  /// Odd while this rank waits; each wait has a number of its own, and so has what is left of one
  /// when a wait within it ends.
  std::uint32_t waits() const { return own().waits.load(std::memory_order_acquire); }
  /// True once on a node: for the rank that is to report.
  bool take_report();
  /// For one that has nothing to report after all.
  void give_report_back();
  /// Instead of a report: no rank of the node is to think of one for so long.
  void postpone(double seconds);
  /// For how many seconds more; 0: reports are not postponed.
  double postponed_for() const;
  /// What is known of all ranks: those of the node, and those `elsewhere`.
  std::vector<RankProgress> seen(const std::vector<RankProgress>& elsewhere) const;
  /// The report of this rank's wait under way, with what all ranks of the node say, and those
  /// `elsewhere`; empty where it waits no longer. `problem`: Stall::problem.
  std::string report(double seconds, const std::vector<RankProgress>& elsewhere = {},
                     const std::string& problem = {}) const;
  /// Whether ranks of the grid are on other nodes, of which this board knows nothing.
  bool has_other_nodes() const;
  std::vector<ProcessName> processes_of_node() const;

  // For the ranks of other nodes, which do not see this memory.
  /// What the ranks of this node do, as bytes for read_image.
  std::string node_image() const;
  /// Nothing where the bytes are not such.
  static std::vector<RankProgress> read_image(const std::string& image);
  int first_rank_of_node() const;
  /// Whether this is the first rank of its node whose process runs.
  bool speaks_for_node() const;
  /// Whether these ranks and those of the node are all of the grid.
  bool has_all(const std::vector<RankProgress>& elsewhere) const;

 private:
  template <class T>
  static void store(std::atomic<T>& field, T value) {
    field.store(value, std::memory_order_relaxed);
  }
  void show(const Message& message);
  void count_waits(std::uint32_t by) {
    ProgressSlot& slot = own();
    slot.waits.store(slot.waits.load(std::memory_order_relaxed) + by, std::memory_order_release);
  }
  ProgressSlot& own() const { return *own_.load(std::memory_order_acquire); }
  std::vector<RankProgress> seen_locked(const std::vector<RankProgress>& elsewhere) const;
  static RankProgress read(const ProgressSlot& slot, ProcessState process);

  std::unique_ptr<ProgressSlot> alone_;
  SharedSlots shared_;
  std::vector<ProgressSlot*> node_;  // by rank of the node
  std::atomic<ProgressSlot*> own_;
  std::vector<Message> awaited_;           // by the waits under way, the outermost first
  std::vector<std::uint32_t> started_;     // collectives, by group
  mutable std::mutex mutex_;               // of what follows, and of node_
  std::vector<std::vector<int>> members_;  // by group
  ExplainProgress explain_;
};

/// The wait of a scope for one message; `board` may be null. Ended also where it fails.
using BoardWait = Scope<&ProgressBoard::begin_wait, &ProgressBoard::end_wait>;

}  // namespace triax
