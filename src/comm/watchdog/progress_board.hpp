// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activity of each rank of a node, one slot per rank in memory that all of them read. Writing
// costs a few plain stores per message. Reading needs no message, and works when other ranks are
// stopped or dead.
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
    int group = -1;            // returned by add_group
    std::uint32_t number = 0;  // index among the group's collectives, from 1; 0: point to point
    CallKind kind = CallKind::meeting;
    std::uint64_t bytes = 0;
    int peer = -1, tag = 0;  // point to point; peer: rank in the grid
  };

  /// A board of this rank alone, until share().
  ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  /// Collective over `node`, the ranks of a node. `rank` of `ranks`: position in the grid; `place`
  /// names the rank. Groups are added afterwards. If the system does not let the ranks share
  /// memory, each keeps a board of its own, as if alone on its node.
  void share(MPI_Comm node, int rank, int ranks, const std::string& place);
  /// Returns the group's number. `members`: grid ranks, by rank of the group. `name` must be the
  /// same on all of them.
  int add_group(const std::string& name, std::vector<int> members);

  // Calls for the thread that sends messages.
  /// Notes the start of a collective.
  Message start(int group, CallKind kind, std::uint64_t bytes);
  /// A message to or from `peer`, a rank of the group.
  Message peer_message(int group, CallKind kind, std::uint64_t bytes, int peer, int tag) const;
  void finish(const Message& message);
  /// The rank waits for a message between begin_wait() and end_wait(). Waits may nest: the
  /// innermost is shown, and the outer one again after it ends.
  void begin_wait(const Message& message);
  void end_wait();
  /// Argument of begin_wait() for a wait for the rank's own GPU: no message, no group.
  static Message of_device() { return {-1, 0, CallKind::device, 0}; }
  /// A wait for all ranks of the grid, outside of training.
  void begins() override;
  void ends() override;
  void file_work_begins() override { store(own().file_work, own().file_work.load() + 1); }
  void file_work_ends() override { store(own().file_work, own().file_work.load() - 1); }
  /// Activity, step and position of the rank's work; explain_with() gives them a text.
  void set_activity(int activity) { store(own().activity, activity); }
  void set_step(std::int64_t step) { store(own().step, step); }
  void set_position(int position) { store(own().position, position); }

  // Calls for any thread.
  /// Sets the text for activity, step and position. The reporting thread calls it.
  void explain_with(ExplainProgress explain);
  /// Odd while this rank waits. Each wait has its own number, and so has the rest of an outer wait
  /// after an inner one ends.
  std::uint32_t waits() const { return own().waits.load(std::memory_order_acquire); }
  /// True once per node: for the rank that will report.
  bool take_report();
  /// Undoes take_report() if there is nothing to report after all.
  void give_report_back();
  /// Keeps all ranks of the node from reporting for `seconds`.
  void postpone(double seconds);
  /// Remaining seconds of postpone(); 0: reports are not postponed.
  double postponed_for() const;
  /// Progress of all known ranks: this node's and those in `elsewhere`.
  std::vector<RankProgress> seen(const std::vector<RankProgress>& elsewhere) const;
  /// Stall report of this rank's current wait, from all ranks of the node and those in `elsewhere`;
  /// empty if it no longer waits. `problem`: Stall::problem.
  std::string report(double seconds, const std::vector<RankProgress>& elsewhere = {},
                     const std::string& problem = {}) const;
  /// True if ranks of the grid are on other nodes, which this board does not see.
  bool has_other_nodes() const;
  std::vector<ProcessName> processes_of_node() const;

  // Calls for the exchange with other nodes, which do not see this memory.
  /// Slots of this node's ranks as bytes, for read_image().
  std::string node_image() const;
  /// Empty if the bytes are not an image.
  static std::vector<RankProgress> read_image(const std::string& image);
  int first_rank_of_node() const;
  /// True if this is the first rank of its node whose process runs.
  bool speaks_for_node() const;
  /// True if `elsewhere` and the ranks of this node are the whole grid.
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
  std::vector<ProgressSlot*> node_;  // by rank on the node
  std::atomic<ProgressSlot*> own_;
  std::vector<Message> awaited_;           // waits under way, outermost first
  std::vector<std::uint32_t> started_;     // number of collectives, by group
  mutable std::mutex mutex_;               // guards node_ and all members below
  std::vector<std::vector<int>> members_;  // by group
  ExplainProgress explain_;
};

/// Scoped wait for one message; `board` may be null. Ends on exceptions too.
using BoardWait = Scope<&ProgressBoard::begin_wait, &ProgressBoard::end_wait>;

}  // namespace triax
