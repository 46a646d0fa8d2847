// SPDX-License-Identifier: Apache-2.0
#include "src/trace/clock_offset.hpp"

#include <array>
#include <limits>
#include <map>

#include "kernels/base/mpi/agree.hpp"
#include "src/executor/step_recorder.hpp"

namespace triax {
namespace {

constexpr int round_trips = 16;

Tensor bytes_of(std::int64_t& value) {
  return {&value, DType::u8, {static_cast<std::int64_t>(sizeof value)}};
}

// Answers rank 0's questions for this node's time.
void answer(Communicator& world) {
  const Stream host;
  for (int trip = 0; trip < round_trips; ++trip) {
    std::int64_t now = 0;
    world.receive(host, bytes_of(now), 0, trip).wait(host);
    now = stamp();
    world.send(host, bytes_of(now), 0, trip).wait(host);
  }
}

std::int64_t offset_to(Communicator& world, int rank) {
  const Stream host;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max(), offset = 0;
  for (int trip = 0; trip < round_trips; ++trip) {
    std::int64_t before = stamp(), there = 0;
    const std::int64_t asked = before;
    world.send(host, bytes_of(before), rank, trip).wait(host);
    world.receive(host, bytes_of(there), rank, trip).wait(host);
    const std::int64_t after = stamp();
    if (after - asked >= shortest) continue;
    shortest = after - asked;
    offset = asked + shortest / 2 - there;
  }
  return offset;
}

}  // namespace

std::vector<std::int64_t> clock_offsets(ProcessGrid& grid) {
  const std::array<std::int64_t, 1> own = {grid.ranks_of_node().front()};
  const std::vector<std::int64_t> first_of_node = gather_over_ranks(grid, own);
  if (grid.rank() != 0) {
    if (grid.rank() == own[0]) answer(grid.world());
    return {};
  }
  std::map<std::int64_t, std::int64_t> offsets = {{own[0], 0}};
  std::vector<std::int64_t> all;
  for (const std::int64_t first : first_of_node) {
    if (!offsets.contains(first)) offsets[first] = offset_to(grid.world(), static_cast<int>(first));
    all.push_back(offsets[first]);
  }
  return all;
}

}  // namespace triax
