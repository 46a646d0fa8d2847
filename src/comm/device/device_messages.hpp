// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages of device memory between ranks on GPUs: by NCCL, or staged through host memory.
#include <memory>
#include <string>

#include "src/comm/interface/communicator.hpp"
#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

class MpiCommunicator;

/// True for tensors in host memory: MPI sends them, in GPU runs too.
inline bool on_host(const Tensor& tensor) {
  return tensor.space() == MemorySpace::host;
}

/// A group of ranks for which DeviceMessages makes a communicator.
struct DeviceGroup {
  Communicator& host;    // same ranks, for host memory; must outlive the result
  MpiCommunicator& mpi;  // same ranks, by MPI alone: it waits for the device; outlives it too
  Communicator* parent;  // superset of the ranks, made by the same DeviceMessages; null: all ranks
  int color;  // the same on all ranks of the group, different between groups of one parent
  ProgressBoard& board;  // notes the messages
  int board_group;       // number of this group on that board
  std::string where;     // names this rank and the group in errors
};

/// A message of device memory failed, and no later one will complete. Also thrown from waits for
/// MPI, whose messages may still write into memory of their caller, so the process must end.
class DeviceMessagesFailed : public Error {
 public:
  using Error::Error;
};

/// By NCCL, or through host memory and MPI if ranks share a GPU or triax is built without NCCL.
class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;
  /// Collective over the ranks of the parent. The communicator sends host memory by MPI.
  virtual std::unique_ptr<Communicator> make(const DeviceGroup& group) = 0;
  /// Blocks the caller until `event` is done, noted on the board as a wait for the oldest message.
  /// Error if messages fail meanwhile.
  virtual void drain(const Event& event) = 0;
  /// "messages by NCCL 2.28.9"
  virtual std::string description() const = 0;
  /// True if messages go through host memory.
  virtual bool staged() const = 0;
  /// Bytes of host memory held for staging.
  virtual std::int64_t host_bytes() const = 0;
};

/// `world`: all ranks.
std::unique_ptr<DeviceMessages> staged_messages(MpiCommunicator& world);
/// True if this build has NCCL.
bool has_nccl();
/// Collective over `world`, all ranks. Null in a build without NCCL.
std::unique_ptr<DeviceMessages> nccl_messages(MpiCommunicator& world, WaitPolicy policy);

}  // namespace triax
