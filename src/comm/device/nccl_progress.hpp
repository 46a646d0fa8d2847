#pragma once
// The messages of NCCL that a rank has under way: what is told of them, and how they fail.
#include <nccl.h>

#include <deque>
#include <string>
#include <vector>

#include "kernels/base/mpi/message_progress.hpp"
#include "src/comm/device/device_messages.hpp"
#include "src/comm/watchdog/device_wait.hpp"

namespace triax {

/// An Error that names the call and `where`, unless it succeeded.
void check_nccl(ncclResult_t result, const char* call, const std::string& where);

/// The messages under way of all communicators of a rank, for who waits: for the GPU, or for MPI,
/// which hears of a failure of NCCL too.
class NcclProgress final : public MovesMessages {
 public:
  /// `messages`: what moves on while a rank waits for its GPU; outlives this.
  NcclProgress(WaitPolicy policy, MessageProgress& messages)
      : policy_(policy), messages_(messages) {
    messages_.add(*this);
  }
  ~NcclProgress() override { messages_.remove(*this); }
  NcclProgress(const NcclProgress&) = delete;
  NcclProgress& operator=(const NcclProgress&) = delete;
  /// Kernels move them: an Error of one that failed.
  bool advance() override;
  /// `board`: where waits for the device alone are noted.
  void note_on(ProgressBoard& board) { board_ = &board; }

  struct Call {
    Event begin, end;  // on the stream that it was started on; on the communicator's
    ProgressBoard* board = nullptr;
    ProgressBoard::Message message;
    bool waited = true;      // nobody will wait for it any more
    bool under_way = false;  // as far as the board knows
  };
  /// A call that is free.
  std::size_t take();
  Call& at(std::size_t call) { return calls_[call]; }
  /// It has been given to NCCL: the board is told when it is complete.
  void begun(std::size_t call);
  /// Tells the board what is complete.
  void note();
  /// DeviceMessagesFailed where messages or the GPU have failed.
  void check_usable() const {
    if (!failure_.empty()) throw DeviceMessagesFailed(failure_);
  }
  void add(ncclComm_t comm, std::string where) { comms_.push_back({comm, std::move(where)}); }
  /// Destroys it, unless it was aborted or an exception is on its way; null: nothing.
  void end(ncclComm_t comm);
  /// See DeviceMessages::drain.
  void drain(const Event& event);

 private:
  struct Known {
    ncclComm_t comm;
    std::string where;
  };
  void check_comms();
  void abort_all();
  /// For this call and all later ones.
  [[noreturn]] void fail(const std::string& why);

  WaitPolicy policy_;
  MessageProgress& messages_;
  ProgressBoard* board_ = nullptr;
  std::string failure_;  // of a message, or of the GPU
  std::deque<Call> calls_;
  std::vector<std::size_t> under_way_;  // calls, the oldest first
  std::vector<int> behind_;             // of note(): groups whose oldest call is not complete
  std::vector<Known> comms_;
};

}  // namespace triax
