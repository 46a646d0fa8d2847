// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of a CheckpointLoader.
#include <cstddef>
#include <cstdint>
#include <span>

#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/checkpoint/load/node_memory.hpp"
#include "io/direct/block_file.hpp"

namespace triax {

/// Memory of one checksum chunk of float32, with the pages that its ends share.
constexpr std::int64_t loading_block_bytes =
    integrity_block * std::int64_t{sizeof(float)} + 2 * BlockFile::alignment;
/// Most memory that a rank uses for chunks, its share of the node's shared memory included (see
/// NodeMemory).
constexpr std::int64_t loading_bytes_at_once = most_blocks * loading_block_bytes;

struct LoaderOptions {
  /// Bytes of chunks per node and round. Several rounds are in flight while one is being used
  /// (parts_ahead). Each rank gets at least one chunk and at most a quarter of the window.
  std::int64_t window_bytes = 4 * loading_block_bytes;
  int node = -1;  // ranks with the same number share memory; -1: ranks of one machine
  /// Memory lent by the caller until the loader is destroyed; it replaces the rank's own if it is
  /// large enough. Memory written before saves the time in which the system, or the host of a
  /// virtual machine, provides new pages.
  std::span<std::byte> memory = {};
};

}  // namespace triax
