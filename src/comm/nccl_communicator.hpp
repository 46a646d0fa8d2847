#pragma once
// A Communicator for memory of GPUs by NCCL.
#include <nccl.h>

#include <string>

#include "src/comm/device_messages.hpp"
#include "src/comm/mpi_communicator.hpp"
#include "src/comm/nccl_progress.hpp"
#include "src/comm/staged_communicator.hpp"

namespace triax {

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
