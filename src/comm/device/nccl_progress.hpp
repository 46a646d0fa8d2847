// SPDX-License-Identifier: Apache-2.0
#pragma once
// NCCL messages of a rank under way: their completion on the board, and their failures.
#include <nccl.h>

#include <deque>
#include <string>
#include <vector>

#include "kernels/base/mpi/message_progress.hpp"
#include "src/comm/device/device_messages.hpp"
#include "src/comm/watchdog/device_wait.hpp"

namespace triax {

/// DeviceMessagesFailed, naming the call and `where`, if `result` is an error.
void check_nccl(ncclResult_t result, const char* call, const std::string& where);

/// Messages under way of all NCCL communicators of a rank. Waits for the GPU and for MPI check it,
/// so that an NCCL failure ends both.
class NcclProgress final : public MovesMessages {
 public:
  /// `messages`: advanced while a rank waits for its GPU; must outlive the object.
  NcclProgress(WaitPolicy policy, MessageProgress& messages)
      : policy_(policy), messages_(messages) {
    messages_.add(*this);
  }
  ~NcclProgress() override { messages_.remove(*this); }
  NcclProgress(const NcclProgress&) = delete;
  NcclProgress& operator=(const NcclProgress&) = delete;
  /// GPU kernels move the messages; this only checks them. Always false. DeviceMessagesFailed if
  /// one failed.
  bool advance() override;
  /// Notes waits for the device alone on `board`.
  void note_on(ProgressBoard& board) { board_ = &board; }

  struct Call {
    Event begin, end;  // begin: on the caller's stream; end: on the communicator's
    ProgressBoard* board = nullptr;
    ProgressBoard::Message message;
    bool waited = true;      // nobody will wait for it any more
    bool under_way = false;  // not yet noted as complete
  };
  /// Index of a free call.
  std::size_t take();
  Call& at(std::size_t call) { return calls_[call]; }
  /// Registers a call that was handed to NCCL; the board is told when it completes.
  void begun(std::size_t call);
  /// Tells the board which calls are complete.
  void note();
  /// Throws DeviceMessagesFailed if messages or the GPU have failed.
  void check_usable() const {
    if (!failure_.empty()) throw DeviceMessagesFailed(failure_);
  }
  void add(ncclComm_t comm, std::string where) { comms_.push_back({comm, std::move(where)}); }
  /// Destroys `comm`, unless it was aborted or an exception is under way. Null: does nothing.
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
  /// Fails this call and all later ones.
  [[noreturn]] void fail(const std::string& why);

  WaitPolicy policy_;
  MessageProgress& messages_;
  ProgressBoard* board_ = nullptr;
  std::string failure_;  // failure text of a message or the GPU; empty: none
  std::deque<Call> calls_;
  std::vector<std::size_t> under_way_;  // indices of calls, oldest first
  std::vector<int> behind_;             // scratch of note(): groups whose oldest call is incomplete
  std::vector<Known> comms_;
};

}  // namespace triax
