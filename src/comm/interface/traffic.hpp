#pragma once
// What messages cost by the textbook ring, the same formulas for what a run counts and what a dry
// run predicts. The algorithm that MPI picks may move more; the ring is the least that any can do
// per rank.
#include <cstdint>

namespace triax {

/// What a communicator sent. A collective or a send is one message; receives and barriers are none.
/// Bytes are those that leave one rank, averaged over the ranks of the group, rounded down.
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

/// The share of `bytes` that leaves a rank in one trip round the ring: each of the `ranks` parts
/// makes ranks - 1 hops. That is a reduce_scatter with `bytes` of input, an all_gather with `bytes`
/// of output, and a broadcast of `bytes` (every rank but the last passes it on: the mean over
/// ranks).
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
