#pragma once
// The blocks of a round of CheckpointLoader that go from node to node. Internal to io/.
#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "io/checkpoint/load/load_round.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// The messages of one rank. Blocks are whole pages, of BlockFile::alignment bytes.
class RoundMessages {
 public:
  explicit RoundMessages(const Ranks& ranks);
  ~RoundMessages();
  RoundMessages(const RoundMessages&) = delete;
  RoundMessages& operator=(const RoundMessages&) = delete;

  /// A block that comes from another rank, and goes on when it is here.
  void receive(const LoadDuty& duty, std::span<std::byte> memory);
  /// A block that is here, to those that the duty names.
  void send(const LoadDuty& duty, std::span<std::byte> memory);
  /// Until all has come and gone. Waiting yields the core.
  void finish();

 private:
  struct Incoming {
    const LoadDuty* duty;
    std::span<std::byte> memory;
    MPI_Request request;
  };
  bool poll();  // true when all has come and gone

  const Ranks& ranks_;
  MPI_Datatype page_ = MPI_DATATYPE_NULL;
  std::vector<Incoming> incoming_;
  std::vector<MPI_Request> outgoing_;
};

}  // namespace triax
