#pragma once
// How ranks on GPUs exchange messages of device memory.
#include <memory>
#include <string>

#include "src/comm/interface/communicator.hpp"
#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

class MpiCommunicator;

/// Whether a message is MPI's: those of host memory are, on GPUs too.
inline bool on_host(const Tensor& tensor) {
  return tensor.space() == MemorySpace::host;
}

/// A group of ranks as a communicator for device memory is made from it.
struct DeviceGroup {
  Communicator& host;    // of the same ranks, for host memory; outlives what is made
  MpiCommunicator& mpi;  // likewise, by MPI alone: it waits for the device
  Communicator* parent;  // made by the same DeviceMessages, of more ranks; null: of all
  int color;             // the same on the ranks of a group, each group of the parent's another
  ProgressBoard& board;  // where its messages are noted
  int board_group;       // as those of this group
  std::string where;     // names this rank and the group in errors
};

/// Messages of a device's memory failed, and no other will be complete. Thrown out of waits for
/// MPI too, whose messages may write where their caller's memory was: nothing but the end of the
/// process may follow.
class DeviceMessagesFailed : public Error {
 public:
  using Error::Error;
};

/// By NCCL; through host memory and MPI where ranks share a GPU or triax is built without NCCL.
class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;
  /// Collective over the ranks of the parent. Messages of host memory take MPI.
  virtual std::unique_ptr<Communicator> make(const DeviceGroup& group) = 0;
  /// Blocks the caller until `event` is done. Error where messages fail meanwhile; noted as a wait
  /// for the oldest one.
  virtual void drain(const Event& event) = 0;
  /// "messages by NCCL 2.28.9"
  virtual std::string description() const = 0;
  /// Whether they go through host memory.
  virtual bool staged() const = 0;
  /// Of host memory that it has come to hold.
  virtual std::int64_t host_bytes() const = 0;
};

/// `world`: all ranks, as below.
std::unique_ptr<DeviceMessages> staged_messages(MpiCommunicator& world);
/// Whether this build has NCCL.
bool has_nccl();
/// Null in a build without it. `world`: all ranks. Collective.
std::unique_ptr<DeviceMessages> nccl_messages(MpiCommunicator& world, WaitPolicy policy);

}  // namespace triax
