// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exchange of rank progress between nodes during a stall. MPI may be what is stuck, so nodes use
// files in a directory that all of them see.
//
// The first rank to report makes a directory `.stall-*` in run.directory. One rank of each node
// looks for it; while it exists, each node writes its ranks' slots there, again and again. Nodes
// that do not answer (every rank stopped or gone, or the file system not writable) are reported as
// not heard of, beside the busy ranks. One report is printed, by the rank that made the directory;
// if it cannot be made, one per node with the reason. The directory stays after such an end, for
// ranks whose waits exceed the limit a moment later, until the next run in run.directory.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

/// True if the directory of `path` lists this file. Listing makes NFS ask the server; a lookup by
/// name may be answered from the node's cache of missing names.
bool is_listed(const std::string& path);

/// A thread that looks for the directory periodically. While it exists, the first running rank of
/// each node writes down what its node's ranks do. It is a thread of its own so that a hanging file
/// system does not stop the watchdog.
class StallExchange {
 public:
  /// `directory`: used by this run alone; all nodes see its parent. It is created when a rank
  /// asks, and looked for 20 times in `seconds`, at least every 10 s. `board` must outlive the
  /// object.
  StallExchange(const ProgressBoard& board, std::string directory, double seconds);
  ~StallExchange();
  StallExchange(const StallExchange&) = delete;
  StallExchange& operator=(const StallExchange&) = delete;

  struct Answers {
    bool first = true;                // false: a rank of another node asked before
    std::vector<RankProgress> ranks;  // ranks of the other nodes that answered
    bool taken_back = false;          // the rank that asked before found no reason to end the job
    bool hangs = false;               // the file system does not answer
    std::string problem;              // why nodes may not hear each other; empty if unknown
  };
  /// Seconds to wait for answers: a quarter of `seconds`, at most 90 s, since NFS may show a node
  /// an old state for 60 s.
  static double patience(double seconds);
  /// Requests reports from all nodes and waits up to patience(). If another rank has already asked,
  /// returns without waiting, unless `insists`: then only files written after this call count, and
  /// if that rank has called take_back(), nothing is requested. Callable from any one thread.
  Answers ask(bool insists = false);
  /// Ends the use of the answers: the next rank that asks is the first again. Does nothing after
  /// answers with `hangs`: the thread removes the directory itself once the file system answers.
  void take_back();

 private:
  enum class State : std::uint8_t { idle, asked, insisting, answered };
  static bool is_asked(State state) { return state == State::asked || state == State::insisting; }
  void run();
  std::string tell() const;
  Answers collect(bool insists);
  void remove_directory() const;
  bool over_after(double seconds);

  const ProgressBoard& board_;
  const std::string directory_;
  const double limit_, period_;  // seconds
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::idle;
  bool over_ = false;
  bool made_ = false;  // the last collect() made the directory; used by the thread only
  Answers answers_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace triax
