// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/round_messages.hpp"

#include <algorithm>

#include "io/direct/block_file.hpp"
#include "kernels/base/wait.hpp"

namespace triax {
namespace {

int pages_of(std::span<std::byte> memory) {
  return static_cast<int>(static_cast<std::int64_t>(memory.size()) / BlockFile::alignment);
}

}  // namespace

RoundMessages::RoundMessages(const Ranks& ranks) : ranks_(ranks) {
  if (ranks.size == 1) return;
  check_mpi(MPI_Type_contiguous(static_cast<int>(BlockFile::alignment), MPI_BYTE, &page_),
            "MPI_Type_contiguous", file_ranks);
  check_mpi(MPI_Type_commit(&page_), "MPI_Type_commit", file_ranks);
}

RoundMessages::~RoundMessages() {
  if (page_ != MPI_DATATYPE_NULL) MPI_Type_free(&page_);
}

void RoundMessages::receive(const LoadDuty& duty, std::span<std::byte> memory) {
  Incoming& incoming = incoming_.emplace_back(Incoming{&duty, memory, MPI_REQUEST_NULL});
  check_mpi(MPI_Irecv(memory.data(), pages_of(memory), page_, duty.from, duty.tag, ranks_.comm,
                      &incoming.request),
            "MPI_Irecv", file_ranks);
}

void RoundMessages::send(const LoadDuty& duty, std::span<std::byte> memory) {
  for (const int to : duty.to)
    check_mpi(MPI_Isend(memory.data(), pages_of(memory), page_, to, duty.tag, ranks_.comm,
                        &outgoing_.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Isend", file_ranks);
  poll();
}

bool RoundMessages::poll() {
  std::vector<Incoming> here;
  std::erase_if(incoming_, [&](Incoming& incoming) {
    int done = 0;
    check_mpi(MPI_Test(&incoming.request, &done, MPI_STATUS_IGNORE), "MPI_Test", file_ranks);
    if (done != 0) here.push_back(incoming);
    return done != 0;
  });
  for (const Incoming& incoming : here)
    for (const int to : incoming.duty->to)
      check_mpi(
          MPI_Isend(incoming.memory.data(), pages_of(incoming.memory), page_, to,
                    incoming.duty->tag, ranks_.comm, &outgoing_.emplace_back(MPI_REQUEST_NULL)),
          "MPI_Isend", file_ranks);
  std::erase_if(outgoing_, [](MPI_Request& request) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", file_ranks);
    return done != 0;
  });
  return incoming_.empty() && outgoing_.empty();
}

void RoundMessages::finish() {
  if (poll()) return;
  const WaitScope waiting(ranks_.watch);
  for (Patience patience(WaitPolicy::yield); !poll();) patience.pause();
}

}  // namespace triax
