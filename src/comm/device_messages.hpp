#pragma once
// How ranks on GPUs exchange messages of device memory.
#include <memory>
#include <string>

#include "src/comm/communicator.hpp"

namespace triax {

class MpiCommunicator;

/// By NCCL; through host memory and MPI where ranks share a GPU or triax is built without NCCL.
class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;
  /// For the ranks of `mpi`, which outlives what is made. Collective over the ranks of `parent`,
  /// which are more: those of one group give the same `color`, each group another. Messages of host
  /// memory take MPI.
  virtual std::unique_ptr<Communicator> group(MpiCommunicator& mpi, Communicator* parent,
                                              int color) = 0;
  /// "messages by NCCL 2.28.9"
  virtual std::string description() const = 0;
  /// Whether they go through host memory.
  virtual bool staged() const = 0;
  /// Of host memory that it has come to hold.
  virtual std::int64_t host_bytes() const = 0;
};

std::unique_ptr<DeviceMessages> staged_messages();
/// Null in a build without NCCL. `world`: all ranks; a group without a parent is one of its groups.
/// Collective.
std::unique_ptr<DeviceMessages> nccl_messages(MpiCommunicator& world);

}  // namespace triax
