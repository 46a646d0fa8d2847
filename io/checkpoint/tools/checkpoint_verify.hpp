// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax checkpoint verify`: compares the data of a checkpoint with its checksums.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// A checksum chunk whose data or checksum are damaged.
struct DamagedBlock {
  std::string tensor;
  std::int64_t block;                 // number of the chunk in the tensor, from 0
  std::int64_t begin_byte, end_byte;  // within the tensor's data, row-major
  bool operator==(const DamagedBlock&) const = default;
};

struct Verification {
  bool has_checksums = true;  // false: format 1, nothing can be checked
  std::int64_t bytes = 0;     // bytes of tensor data, read once
  double seconds = 0;
  std::vector<DamagedBlock> damaged;  // sorted by tensor name and chunk
};

/// Called with the bytes done and the total bytes of this rank's share.
using VerifyProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Collective; the result is the same on every rank. Each rank reads its share of the chunks, with
/// as many buffers in flight as a load has (parts_ahead). Error as CheckpointReader's, and where
/// the list of tensors is damaged or data cannot be read. MPI_COMM_NULL: one process. `group`:
/// checks only tensors whose names begin with it; empty: all.
Verification verify_checkpoint(const std::string& path, const Ranks& ranks,
                               const VerifyProgress& progress = {}, const std::string& group = {});

/// Text for people: one line for each of the first ten damaged chunks, then the number of others.
std::string text_of(const std::vector<DamagedBlock>& damaged);

/// Collective. Calls verify_checkpoint(); Error with the number of damaged chunks and the first
/// one, if any. False where the file has no checksums.
bool require_whole(const std::string& path, const Ranks& ranks, const std::string& group = {});

}  // namespace triax
