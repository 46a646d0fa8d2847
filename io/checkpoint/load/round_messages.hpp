// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends the chunks of a CheckpointLoader round between nodes. Internal to io/.
#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "io/checkpoint/load/load_round.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// Messages of one rank. Chunks are sent as whole pages of BlockFile::alignment bytes.
class RoundMessages {
 public:
  explicit RoundMessages(const Ranks& ranks);
  ~RoundMessages();
  RoundMessages(const RoundMessages&) = delete;
  RoundMessages& operator=(const RoundMessages&) = delete;

  /// Receives a chunk from another rank, then sends it on as the duty says.
  void receive(const LoadDuty& duty, std::span<std::byte> memory);
  /// Sends a chunk of this rank to the ranks of the duty.
  void send(const LoadDuty& duty, std::span<std::byte> memory);
  /// Waits until all messages are received and sent. Waiting yields the core.
  void finish();

 private:
  struct Incoming {
    const LoadDuty* duty;
    std::span<std::byte> memory;
    MPI_Request request;
  };
  bool poll();  // true when all messages are done

  const Ranks& ranks_;
  MPI_Datatype page_ = MPI_DATATYPE_NULL;
  std::vector<Incoming> incoming_;
  std::vector<MPI_Request> outgoing_;
};

}  // namespace triax
