// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of one rank, in memory that the other ranks of its node read. One thread writes a slot.
// A reader sees each field whole, but different fields may be a moment apart.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace triax {

enum class CallKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  barrier,
  meeting,  // outside of training: ranks make groups, open or close a file together, agree
  send,
  receive,
  device  // no message: the rank waits for its own GPU
};
std::string_view name_of(CallKind kind);

/// The latest collectives of one group. Number n is the same operation on all ranks of the group.
struct GroupSlot {
  static constexpr std::size_t recent = 16;
  struct Operation {
    std::atomic<std::uint64_t> head{0};  // number (from 1) << 32 | kind << 1 | finished
    std::atomic<std::uint64_t> bytes{0};
  };
  std::array<char, 48> name{};               // the same on all ranks of the group
  std::array<Operation, recent> operations;  // number n at n % recent
};

struct alignas(64) ProgressSlot {
  static constexpr std::size_t most_groups = 24;
  std::array<char, 160> place{};  // "rank 5 (data 1, pipeline 0, tensor 1) on host"
  std::int32_t rank = 0;          // in the grid
  std::int32_t process = 0;
  std::uint64_t born = 0;  // with `process`: a ProcessName
  // Position in the rank's work; ExplainProgress turns the numbers into text.
  std::atomic<std::int32_t> activity{0};
  std::atomic<std::int32_t> position{0};
  std::atomic<std::int64_t> step{0};
  // The current wait, valid while `waits` is odd: the count is raised at its beginning and at its
  // end.
  std::atomic<std::uint32_t> waits{0};
  std::atomic<std::int32_t> group{0};
  std::atomic<std::uint32_t> number{0};
  std::atomic<CallKind> kind{};
  std::atomic<std::int32_t> peer{0};
  std::atomic<std::int32_t> tag{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::int32_t> file_work{0};  // number of open FileScopes
  // Fields used in the first slot of a node only.
  std::atomic<bool> reported{false};          // a rank of the node is reporting
  std::atomic<std::int64_t> postponed_to{0};  // ms of the node's steady clock; no report before it
  std::atomic<std::int32_t> groups_made{0};
  std::array<GroupSlot, most_groups> groups;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share the slots");

}  // namespace triax
