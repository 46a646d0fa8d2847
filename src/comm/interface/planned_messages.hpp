#pragma once
// Messages before they are sent: what a call of Communicator will count, and what it will cost in
// memory. For dry runs, which have neither ranks nor tensors.
#include <algorithm>
#include <cstdint>

#include "src/comm/interface/traffic.hpp"

namespace triax {

/// Messages of one rank by kind of call.
struct Messages {
  Traffic all_reduce = {}, reduce_scatter = {}, all_gather = {}, send = {};
  /// The most that MPI allocates beside the caller's tensors for one of them, from its start to its
  /// end: MPICH 4.0 the whole tensor for an all-reduce, of which it has small ones alone, and
  /// nothing where data only moves (tests/comm/interface/test_planned_messages.cpp).
  std::uint64_t scratch = 0;
  /// Of sums, the largest part that one rank sums for all: direct::held_bytes has what that takes.
  std::uint64_t part = 0;
  /// The most that one of them takes of host memory where its tensors are a device's and it goes
  /// through there (StagedCommunicator).
  std::uint64_t staged = 0;
  int at_once = 1;  // so many of them are under way

  Traffic total() const { return all_reduce + reduce_scatter + all_gather + send; }

  /// Both, one after the other.
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
  /// The same `times` over.
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

/// Sums by messages from each rank to each other (DirectExchange).
namespace direct {

/// Messages that a rank has under way in each direction at most.
inline constexpr int window = 16;
/// A message of fewer bytes costs as much: no rank sums less for the others, while there is more.
inline constexpr std::uint64_t least_part = 1024;

/// All-reduces of float32 of fewer bytes are MPI's. Those of 16-bit elements, which MPI cannot add
/// without rounding at each step, and reduce-scatters are never.
constexpr std::uint64_t least_bytes(int ranks) {
  constexpr std::uint64_t least = std::uint64_t{16} << 10, of_rank = 256;
  return std::max(least, of_rank * static_cast<std::uint64_t>(ranks));
}
/// Of the tensor of an all-reduce, what each rank sums but those at its end, which may have less.
constexpr std::uint64_t part_bytes(int ranks, std::uint64_t bytes) {
  constexpr std::uint64_t line = 64;
  const auto n = static_cast<std::uint64_t>(ranks);
  return (std::max(least_part, (bytes + n - 1) / n) + line - 1) / line * line;
}
/// Messages that a rank has room for: those of one piece of its part from all others, and those
/// under way of the next.
constexpr std::uint64_t messages_held(int ranks) {
  return static_cast<std::uint64_t>(ranks - 1 + window);
}
/// The bytes of a message at most.
constexpr std::uint64_t piece_bytes(int ranks) {
  constexpr std::uint64_t page = 4096, all = std::uint64_t{16} << 20;
  constexpr std::uint64_t least = std::uint64_t{16} << 10, most = std::uint64_t{256} << 10;
  return std::clamp(all / messages_held(ranks) / page * page, least, most);
}
/// What a rank of a group comes to hold for sums of which its part has so many bytes at most.
constexpr std::uint64_t held_bytes(int ranks, std::uint64_t part) {
  constexpr std::uint64_t line = 64;
  if (ranks <= 1) return 0;
  return messages_held(ranks) * ((std::min(part, piece_bytes(ranks)) + line - 1) / line * line);
}

}  // namespace direct

/// Collectives through memory that the ranks of a node share (NodeExchange).
namespace node {

/// From so many bytes on, where nothing else was found (choose_sizes).
inline constexpr std::uint64_t least_bytes = std::uint64_t{64} << 10;
/// Rounds that a rank's slot has room for: one that others read, one that they wait for, and some
/// for a rank that is ahead.
inline constexpr int depth = 4;
inline constexpr std::int64_t header_bytes = 4096;

/// Of what a rank reduces in a round. All that the ranks touch in a round stays in the caches, but
/// is more than a core keeps near itself: another core reads faster what is in the cache that they
/// share.
constexpr std::int64_t piece_bytes(int ranks) {
  constexpr std::int64_t line = 64, of_all = std::int64_t{256} << 10, least = std::int64_t{8} << 10;
  return std::max(least, of_all / ranks / line * line);
}
/// The slot that a rank of a group of so many makes; none where it is alone.
constexpr std::int64_t slot_bytes(int ranks) {
  return ranks <= 1 ? 0 : header_bytes + depth * ranks * piece_bytes(ranks);
}

}  // namespace node

// The Communicator's calls, on a group of `ranks` with tensors of so many bytes. Nothing in a group
// of one, or of no bytes.

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
constexpr Messages planned_send(std::uint64_t bytes) {
  return {.send = ring::send(bytes), .staged = bytes};
}

}  // namespace triax
