// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ends a job whose ranks wait without end.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "src/comm/watchdog/progress_board.hpp"
#include "src/comm/watchdog/stall_exchange.hpp"

namespace triax {

/// A thread that looks at this rank's waits, a few times in `seconds`. One that lasts as long ends
/// the job with status 3, and one rank of the node says why (ProgressBoard::report). Time in which
/// this process was stopped does not count: a job that Slurm suspended goes on. While ranks work on
/// files (FileScope), and the processes of all ranks run, a wait may last six times as long: file
/// systems are slow now and then, and one that fails over does not answer for minutes.
class Watchdog {
 public:
  /// `board` must outlive the object.
  Watchdog(ProgressBoard& board, double seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From here on reports include ranks of other nodes (StallExchange in `directory`).
  void exchange_in(const std::string& directory);

 private:
  void watch();
  void wait_for_the_end(std::unique_lock<std::mutex>& lock);
  std::string work_on_files(const StallExchange::Answers& others) const;
  double time_granted(double waited, std::unique_lock<std::mutex>& lock);
  void end(double waited, const StallExchange::Answers& others);

  ProgressBoard& board_;
  double seconds_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::optional<StallExchange> exchange_;
  std::thread thread_;
};

/// Ends every rank of the job with `status`, by MPI_Abort. If this process is still alive a few
/// seconds later (the launcher does not answer, or ranks died), it kills `others` on this node and
/// exits. Callable from any thread.
[[noreturn]] void end_job(int status, const std::vector<ProcessName>& others = {});

}  // namespace triax
