// SPDX-License-Identifier: Apache-2.0
#pragma once
// Predicted traffic and memory of each Communicator call, for dry runs without ranks or tensors.
#include <algorithm>
#include <cstdint>

#include "src/comm/interface/traffic.hpp"

namespace triax {

/// Messages of one rank by type of call.
struct Messages {
  Traffic all_reduce = {}, reduce_scatter = {}, all_gather = {}, send = {};
  /// Bytes MPI allocates at most beside the caller's tensors during one message. MPICH 4.0
  /// allocates the whole tensor for an all-reduce, and only small all-reduces go to MPI; calls that
  /// only move data allocate nothing (tests/comm/interface/test_planned_messages.cpp).
  std::uint64_t scratch = 0;
  /// Bytes of the largest shard that one rank sums for all; direct::held_bytes() is the memory this
  /// takes.
  std::uint64_t part = 0;
  /// Bytes of host memory that one message of device tensors takes at most when it is staged
  /// through the host (StagedCommunicator).
  std::uint64_t staged = 0;
  int at_once = 1;  // messages under way together

  Traffic total() const { return all_reduce + reduce_scatter + all_gather + send; }

  /// Totals of both, one after the other: counts add up, maxima stay maxima.
  Messages& operator+=(const Messages& other) {
    all_reduce += other.all_reduce;
    reduce_scatter += other.reduce_scatter;
    all_gather += other.all_gather;
    send += other.send;
    scratch = std::max(scratch, other.scratch);
    part = std::max(part, other.part);
    staged = std::max(staged, other.staged);
    at_once = std::max(at_once, other.at_once);
    return *this;
  }
  friend Messages operator+(Messages a, const Messages& b) { return a += b; }
  /// The same messages repeated `times` times.
  friend Messages operator*(std::uint64_t times, Messages each) {
    for (Traffic* traffic :
         {&each.all_reduce, &each.reduce_scatter, &each.all_gather, &each.send}) {
      traffic->messages *= times;
      traffic->bytes *= times;
    }
    if (times == 0) each.scratch = each.part = each.staged = 0;
    return each;
  }
  bool operator==(const Messages&) const = default;
};

/// Sums by direct messages between all pairs of ranks (DirectExchange).
namespace direct {

/// Maximum number of messages a rank has under way per direction.
inline constexpr int window = 16;
/// Smallest shard in bytes. A smaller message costs as much time, so no rank sums less while there
/// is more to sum.
inline constexpr std::uint64_t least_part = 1024;

/// Size in bytes below which a float32 all-reduce uses MPI_Iallreduce. Reduce-scatters and
/// all-reduces of 16-bit types never use it: MPI cannot add 16-bit floats without rounding at each
/// step.
constexpr std::uint64_t least_bytes(int ranks) {
  constexpr std::uint64_t least = std::uint64_t{16} << 10, of_rank = 256;
  return std::max(least, of_rank * static_cast<std::uint64_t>(ranks));
}
/// Bytes each rank reduces in an all-reduce; the last ranks may have fewer.
constexpr std::uint64_t part_bytes(int ranks, std::uint64_t bytes) {
  constexpr std::uint64_t line = 64;
  const auto n = static_cast<std::uint64_t>(ranks);
  return (std::max(least_part, (bytes + n - 1) / n) + line - 1) / line * line;
}
/// Number of messages a rank has memory for: one piece of its shard from every other rank, plus a
/// window of messages of the next piece.
constexpr std::uint64_t messages_held(int ranks) {
  return static_cast<std::uint64_t>(ranks - 1 + window);
}
/// Maximum bytes per message.
constexpr std::uint64_t piece_bytes(int ranks) {
  constexpr std::uint64_t page = 4096, all = std::uint64_t{16} << 20;
  constexpr std::uint64_t least = std::uint64_t{16} << 10, most = std::uint64_t{256} << 10;
  return std::clamp(all / messages_held(ranks) / page * page, least, most);
}
/// Bytes a rank of a group holds for sums when its shard has at most `part` bytes.
constexpr std::uint64_t held_bytes(int ranks, std::uint64_t part) {
  constexpr std::uint64_t line = 64;
  if (ranks <= 1) return 0;
  return messages_held(ranks) * ((std::min(part, piece_bytes(ranks)) + line - 1) / line * line);
}

}  // namespace direct

/// Collectives through memory shared by the ranks of a node (NodeExchange).
namespace node {

/// Size in bytes from which shared memory is used unless choose_sizes() measures another threshold.
inline constexpr std::uint64_t least_bytes = std::uint64_t{64} << 10;
/// Rounds a rank's slot has memory for: one being read by others, one they wait for, and two more
/// for a rank that runs ahead.
inline constexpr int depth = 4;
inline constexpr std::int64_t header_bytes = 4096;

/// Bytes each rank reduces per round. All memory touched in a round fits the caches together, but
/// exceeds one core's private cache: other cores read faster from the shared cache.
constexpr std::int64_t piece_bytes(int ranks) {
  constexpr std::int64_t line = 64, of_all = std::int64_t{256} << 10, least = std::int64_t{8} << 10;
  return std::max(least, of_all / ranks / line * line);
}
/// Bytes of the slot each rank makes in a group of `ranks`: 1 MiB (plus the header) up to 32 ranks,
/// then 32 KiB per rank; 0 for a group of one.
constexpr std::int64_t slot_bytes(int ranks) {
  return ranks <= 1 ? 0 : header_bytes + depth * ranks * piece_bytes(ranks);
}

}  // namespace node

// Messages of one Communicator call on a group of `ranks`, with a tensor of the given bytes.
// Nothing is sent in a group of one or for zero bytes.

constexpr Messages planned_all_reduce(int ranks, std::uint64_t bytes) {
  if (ranks <= 1 || bytes == 0) return {};
  return {.all_reduce = ring::all_reduce(ranks, bytes),
          .scratch = bytes < direct::least_bytes(ranks) ? bytes : 0,
          .part = direct::part_bytes(ranks, bytes),
          .staged = bytes};
}
constexpr Messages planned_reduce_scatter(int ranks, std::uint64_t input_bytes) {
  if (ranks <= 1 || input_bytes == 0) return {};
  return {.reduce_scatter = ring::reduce_scatter(ranks, input_bytes),
          .part = input_bytes / static_cast<std::uint64_t>(ranks),
          .staged = input_bytes};
}
constexpr Messages planned_all_gather(int ranks, std::uint64_t output_bytes) {
  if (ranks <= 1 || output_bytes == 0) return {};
  return {.all_gather = ring::all_gather(ranks, output_bytes), .staged = output_bytes};
}
/// Counted with the all-gathers, whose trip round the ring it is.
constexpr Messages planned_broadcast(int ranks, std::uint64_t bytes) {
  if (ranks <= 1 || bytes == 0) return {};
  return {.all_gather = ring::broadcast(ranks, bytes), .staged = bytes};
}
constexpr Messages planned_send(std::uint64_t bytes) {
  return {.send = ring::send(bytes), .staged = bytes};
}

}  // namespace triax
