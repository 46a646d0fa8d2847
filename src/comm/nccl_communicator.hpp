#pragma once
// A Communicator for memory of GPUs by NCCL.
#include <nccl.h>

#include <deque>
#include <string>
#include <vector>

#include "src/comm/device_messages.hpp"
#include "src/comm/mpi_communicator.hpp"
#include "src/comm/staged_communicator.hpp"

namespace triax {

/// An Error that names the call and `where`, unless it succeeded.
void check_nccl(ncclResult_t result, const char* call, const std::string& where);

/// The messages under way of all communicators of a rank, for who waits.
class NcclProgress {
 public:
  /// `board`: where waits for the device alone are noted.
  /// `messages`: what moves on while a rank waits for its GPU.
  NcclProgress(WaitPolicy policy, MessageProgress* messages)
      : policy_(policy), messages_(messages) {}
  void note_on(ProgressBoard& board) { board_ = &board; }

  struct Call {
    Event begin, end;  // on the stream that it was started on; on the communicator's
    ProgressBoard* board = nullptr;
    ProgressBoard::Message message;
    std::uint64_t order = 0;
    bool waited = true;  // nobody will wait for it any more
    bool noted = false;  // the board has it
  };
  /// A call that is free.
  std::size_t take();
  Call& at(std::size_t call) { return calls_[call]; }
  /// Tells the board what is complete.
  void note();
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
  const Call* oldest() const;

  WaitPolicy policy_;
  MessageProgress* messages_;
  ProgressBoard* board_ = nullptr;
  std::deque<Call> calls_;
  std::uint64_t begun_ = 0;
  std::vector<Known> comms_;
};

/// Collectives run on a stream of this communicator's own, behind what the stream that they were
/// started on held then. Messages of host memory take MPI. So do, through pinned memory, sends and
/// receives between stages: NCCL matches them by their order, MPI by their tags.
class NcclCommunicator final : public Communicator {
 public:
  /// `comm` may be null where the group has one rank. All outlive it.
  NcclCommunicator(ncclComm_t comm, const DeviceGroup& group, NcclProgress& progress,
                   StagingMemory& staging);
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  Request all_reduce(const Stream& stream, const Tensor& data, ReduceOp op) override;
  Request reduce_scatter(const Stream& stream, const Tensor& output, const Tensor& input) override;
  Request all_gather(const Stream& stream, const Tensor& output, const Tensor& input) override;
  Request all_gather_run(const Stream& stream, const Tensor& whole, std::int64_t begin,
                         std::int64_t count) override;
  Request broadcast(const Stream& stream, const Tensor& data, int root) override;
  Request send(const Stream& stream, const Tensor& data, int to, int tag) override {
    return staged_.send(stream, data, to, tag);
  }
  Request receive(const Stream& stream, const Tensor& data, int from, int tag) override {
    return staged_.receive(stream, data, from, tag);
  }
  Request barrier(const Stream& stream) override { return host_.barrier(stream); }
  Traffic traffic() const override { return traffic_ + host_.traffic(); }

  ncclComm_t comm() const { return comm_; }

 protected:
  void wait(std::uintptr_t handle, const Stream& stream) override;
  bool test(std::uintptr_t handle) override;

 private:
  /// Calls enqueue(native stream) on this communicator's stream, behind what `stream` has.
  template <class Enqueue>
  Request start(const Stream& stream, const char* call, CallKind kind, std::uint64_t bytes,
                const Enqueue& enqueue);

  ncclComm_t comm_;
  Communicator& host_;
  NcclProgress& progress_;
  ProgressBoard& board_;
  int board_group_;
  std::string where_;
  Stream stream_;
  StagedCommunicator staged_;
  Traffic traffic_;
};

}  // namespace triax
