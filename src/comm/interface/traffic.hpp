// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cost of messages by the textbook ring algorithm. The same formulas count a run's traffic and
// predict a dry run's. The algorithm MPI picks may move more bytes; no algorithm moves fewer per
// rank.
#include <cstdint>

namespace triax {

/// Messages and bytes sent by one communicator. A collective or a send counts as one message;
/// receives and barriers count as none. Bytes are those leaving one rank, averaged over the group
/// and rounded down.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  Traffic& operator+=(const Traffic& other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
  friend Traffic operator+(Traffic a, const Traffic& b) { return a += b; }
  bool operator==(const Traffic&) const = default;
};

namespace ring {

/// Bytes leaving a rank in one trip round the ring, where each of the `ranks` shards makes ranks -
/// 1 hops: a reduce-scatter of `bytes` of input, an all-gather of `bytes` of output, or a broadcast
/// of `bytes` (every rank but the last forwards it; mean over the ranks).
constexpr Traffic one_trip(int ranks, std::uint64_t bytes) {
  if (ranks <= 1) return {};
  const auto n = static_cast<std::uint64_t>(ranks);
  // bytes * (n - 1) / n without overflow
  return {1, bytes / n * (n - 1) + bytes % n * (n - 1) / n};
}

constexpr Traffic reduce_scatter(int ranks, std::uint64_t input_bytes) {
  return one_trip(ranks, input_bytes);
}
constexpr Traffic all_gather(int ranks, std::uint64_t output_bytes) {
  return one_trip(ranks, output_bytes);
}
constexpr Traffic broadcast(int ranks, std::uint64_t bytes) {
  return one_trip(ranks, bytes);
}
/// A reduce-scatter and an all-gather in one message: 2 (n - 1) / n of `bytes`.
constexpr Traffic all_reduce(int ranks, std::uint64_t bytes) {
  return {one_trip(ranks, bytes).messages, one_trip(ranks, 2 * bytes).bytes};
}
constexpr Traffic send(std::uint64_t bytes) {
  return {1, bytes};
}

}  // namespace ring
}  // namespace triax
