// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Communicator for GPU memory by NCCL.
#include <nccl.h>

#include <string>
#include <vector>

#include "src/comm/device/device_messages.hpp"
#include "src/comm/device/nccl_progress.hpp"

namespace triax {

/// Messages run in order on this communicator's own stream, after the work that the stream they
/// were issued on held then. Messages of host memory use MPI.
///
/// The n-th send to a rank meets the n-th receive there; tags are for reports only. A send or
/// receive outside an exchange is an exchange by itself. One whose peer is late stays on the GPU
/// and may block everything this rank issues later, in any group, because kernels of all
/// communicators start in program order (NCCL_LAUNCH_ORDER_IMPLICIT, see
/// nccl_communicator_messages.cpp). Messages of one exchange are one NCCL group and do not block
/// each other. The plan decides which messages form an exchange, and src/schedule proves that none
/// deadlocks. Receives posted early, as with MPI, would deadlock here. exchange is an exchange by
/// itself.
class NcclCommunicator final : public Communicator {
 public:
  /// `comm` may be null in a group of one rank. All arguments must outlive the object.
  NcclCommunicator(ncclComm_t comm, const DeviceGroup& group, NcclProgress& progress);
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
  Request send(const Stream& stream, const Tensor& data, int to, int tag) override;
  Request receive(const Stream& stream, const Tensor& data, int from, int tag) override;
  void begin_exchange() override;
  void end_exchange(const Stream& stream) override;
  Request barrier(const Stream& stream) override { return host_.barrier(stream); }
  Traffic traffic() const override { return traffic_ + host_.traffic(); }

  ncclComm_t comm() const { return comm_; }

 protected:
  void wait(std::uintptr_t handle, const Stream& stream) override;
  bool test(std::uintptr_t handle) override;

 private:
  // A message of an exchange that has not started yet.
  struct PeerMessage {
    std::size_t call;  // index in the progress
    CallKind kind;
    Tensor data;
    int peer;
  };
  Request add(const Stream& stream, CallKind kind, const Tensor& data, int peer, int tag);
  ncclResult_t enqueue_exchange(cudaStream_t on) const;
  bool begun(std::uintptr_t handle) const;
  /// Starts a collective by enqueue(native stream).
  template <class Enqueue>
  Request start(const Stream& stream, const char* call, CallKind kind, std::uint64_t bytes,
                const Enqueue& enqueue);
  /// Calls enqueue(native stream) on this communicator's stream, after the work in `stream`.
  template <class Enqueue>
  void launch(const Stream& stream, NcclProgress::Call& call, const char* name,
              const Enqueue& enqueue);
  void begin_under_way(std::size_t index);

  ncclComm_t comm_;
  Communicator& host_;
  NcclProgress& progress_;
  ProgressBoard& board_;
  int board_group_;
  std::string where_;
  Stream stream_;
  bool exchanging_ = false;
  std::vector<PeerMessage> exchange_;
  Traffic traffic_;
};

}  // namespace triax
