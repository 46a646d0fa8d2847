#pragma once
// A Communicator for memory of a device that sends through host memory by MPI: where several ranks
// share a GPU, which NCCL refuses, and in builds without NCCL.
#include <vector>

#include "src/comm/device/staging_memory.hpp"
#include "src/comm/host/mpi_communicator.hpp"

namespace triax {

/// Messages of host memory are handed on to MPI as they are. A call that starts one of device
/// memory returns when its data are in host memory: it waits for the stream. What arrives goes to
/// the device when the message is waited for, on the stream that waits; test() moves it on, and is
/// never true.
class StagedCommunicator final : public Communicator {
 public:
  /// All outlive it. `mpi`: of the same ranks; it waits for the device.
  StagedCommunicator(Communicator& host, MpiCommunicator& mpi, StagingMemory& memory)
      : host_(host), mpi_(mpi), memory_(memory) {}

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
  Request barrier(const Stream& stream) override { return host_.barrier(stream); }
  Traffic traffic() const override { return host_.traffic(); }

 protected:
  void wait(std::uintptr_t handle, const Stream& stream) override;
  bool test(std::uintptr_t handle) override;

 private:
  // Where what arrives goes: to elements [begin, begin + count) of each of `parts` equal parts.
  struct Target {
    Tensor whole;  // flat; empty: nothing arrives
    std::int64_t parts = 1, begin = 0, count = 0;
  };
  // One message under way; `handle` of its Request is its index.
  struct Message {
    int piece = -1;  // of the staging memory; -1: no message
    Tensor staged;   // what arrives
    Target target;
    Event begun;  // the work that its stream held when it was started
    Request request;
  };
  // (elements) of a free piece, for a message that goes to `target`.
  std::size_t begin(const Stream& stream, DType type, std::int64_t elements, const Target& target);
  Message& of(std::uintptr_t handle) { return messages_[handle]; }
  Request started(std::size_t message, Request request);

  Communicator& host_;
  MpiCommunicator& mpi_;
  StagingMemory& memory_;
  std::vector<Message> messages_;
};

}  // namespace triax
