// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/mpi/exchange.hpp"

#include <algorithm>

namespace triax {
namespace {

constexpr int tag = 1;
constexpr std::size_t most_at_once = std::size_t{1} << 28;  // counts are int

void transfer(const Ranks& ranks, std::span<const std::byte> out, int to, std::span<std::byte> in,
              int from) {
  const WaitScope waiting(ranks.watch);
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, from, tag, ranks.comm, &receive),
      "MPI_Irecv", file_ranks);
  check_mpi(
      MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, to, tag, ranks.comm, &send),
      "MPI_Isend", file_ranks);
  wait_yielding(receive);
  wait_yielding(send);
}

}  // namespace

std::vector<std::byte> exchange_bytes(const Ranks& ranks, std::span<const std::byte> bytes, int to,
                                      int from) {
  std::vector<std::byte> received;
  if (ranks.size == 1) return received;
  const std::size_t size = bytes.size();
  std::size_t wanted = 0;
  transfer(ranks, std::as_bytes(std::span(&size, 1)), to,
           std::as_writable_bytes(std::span(&wanted, 1)), from);
  agreed(ranks, [&] { received.resize(wanted); });
  if (to == no_peer) bytes = {};
  for (std::span<std::byte> in = received; !bytes.empty() || !in.empty();) {
    const std::size_t sent = std::min(most_at_once, bytes.size());
    const std::size_t taken = std::min(most_at_once, in.size());
    transfer(ranks, bytes.first(sent), sent > 0 ? to : no_peer, in.first(taken),
             taken > 0 ? from : no_peer);
    bytes = bytes.subspan(sent);
    in = in.subspan(taken);
  }
  return received;
}

}  // namespace triax
