#pragma once
// What the ranks of other nodes do, when a wait does not end. MPI may be what is stuck: nodes tell
// each other by files in a directory that all of them see.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

/// Whether its directory has this file. Opening a directory makes NFS ask the server for it; a look
/// for one name may be answered from what the node remembers, that the name is not there.
bool is_listed(const std::string& path);

/// A thread that looks for the directory now and then; while it is there, a rank asks, and the
/// first running rank of each node writes down what its node's ranks do, again and again. A thread
/// of its own: a file system that hangs must not keep the watchdog from its work.
class StallExchange {
 public:
  /// `directory`: of this run alone, its parent on all nodes. Not there until a rank asks; it is
  /// looked for 20 times in `seconds`, and every 10 s at least. `board` outlives the object.
  StallExchange(const ProgressBoard& board, std::string directory, double seconds);
  ~StallExchange();
  StallExchange(const StallExchange&) = delete;
  StallExchange& operator=(const StallExchange&) = delete;

  struct Answers {
    bool first = true;                // false: a rank of another node asked before
    std::vector<RankProgress> ranks;  // of other nodes, as far as they answered
    bool taken_back = false;          // who had asked before is done: it found nothing to end for
    bool hangs = false;               // the file system does not answer
    std::string problem;              // why nodes may not hear each other; empty: nothing known
  };
  /// How long answers are waited for: a quarter of `seconds`, 90 s at most, for NFS may show a node
  /// for 60 s what was there before.
  static double patience(double seconds);
  /// Asks, and waits until all nodes have answered, or for patience(). Where another rank asked
  /// before, its answers are left to it, unless this one `insists`: what was written before it did
  /// may be old and does not count then; where that one has taken_back(), nothing is asked. Any one
  /// thread.
  Answers ask(bool insists = false);
  /// Done with the answers: the next one to ask is the first again. After answers that `hangs`
  /// there is nothing to do: the thread takes back what it makes when the file system answers.
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
  bool made_ = false;  // the directory, by the last collect(); the thread's alone
  Answers answers_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace triax
