// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Communicator for device memory that sends through host memory by MPI: for ranks that share a
// GPU, which NCCL refuses, and for builds without NCCL.
#include <vector>

#include "src/comm/device/staging_memory.hpp"
#include "src/comm/host/mpi_communicator.hpp"

namespace triax {

/// Messages of host memory are passed to MPI unchanged. A call that starts a message of device
/// memory waits for the stream, and returns when the data is in host memory. Received data is
/// copied to the device in wait(), on the waiting stream; test() therefore only advances the
/// message and is never true.
class StagedCommunicator final : public Communicator {
 public:
  /// All arguments must outlive the object. `mpi`: same ranks; it waits for the device.
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
  // Destination of received data: elements [begin, begin + count) of each of `parts` equal shards.
  struct Target {
    Tensor whole;  // flat; empty: nothing arrives
    std::int64_t parts = 1, begin = 0, count = 0;
  };
  // A message under way; its index is the `handle` of its Request.
  struct Message {
    int piece = -1;  // index in the staging memory; -1: no message
    Tensor staged;   // the data to receive
    Target target;
    Event begun;  // marks the work its stream held when the message was started
    Request request;
  };
  // Takes a staging piece of `elements` elements for a message to `target`; returns the message's
  // index.
  std::size_t begin(const Stream& stream, DType type, std::int64_t elements, const Target& target);
  Message& of(std::uintptr_t handle) { return messages_[handle]; }
  Request started(std::size_t message, Request request);

  Communicator& host_;
  MpiCommunicator& mpi_;
  StagingMemory& memory_;
  std::vector<Message> messages_;
};

}  // namespace triax
